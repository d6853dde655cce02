// Swagger UI on this server's description. Everything is served from here; its online validator is off.

/** @type {((options: Record<string, unknown>) => unknown) | undefined} */
const swagger = /** @type {any} */ (globalThis).SwaggerUIBundle;

if (swagger) {
  swagger({ url: new URL('../openapi.json', location.href).href, dom_id: '#api', deepLinking: true, validatorUrl: null, defaultModelsExpandDepth: 0 });
} else {
  location.replace('../openapi.json');
}
