/** The part of Lit that we use, for the type checker; `lit.js` itself is the published code, bundled. */

export type Template = object;
export interface Directive { readonly _directive: unique symbol }

export class LitElement extends HTMLElement {
  static properties: Record<string, { type?: unknown; attribute?: string | boolean; reflect?: boolean; state?: boolean }>;
  static styles: unknown;
  readonly renderRoot: ShadowRoot;
  readonly updateComplete: Promise<boolean>;
  requestUpdate(): void;
  connectedCallback(): void;
  disconnectedCallback(): void;
  protected willUpdate(changed: Map<string, unknown>): void;
  protected updated(changed: Map<string, unknown>): void;
  protected render(): unknown;
}

export function html(strings: TemplateStringsArray, ...values: unknown[]): Template;
export function svg(strings: TemplateStringsArray, ...values: unknown[]): Template;
export function css(strings: TemplateStringsArray, ...values: unknown[]): object;
export const nothing: unique symbol;
export function repeat<T>(items: Iterable<T>, key: (item: T, index: number) => unknown, template: (item: T, index: number) => unknown): Directive;
export function live(value: unknown): Directive;
