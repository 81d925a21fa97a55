/** Everything comes from this port, no script is in a page, and no page may frame this one. */
const DIRECTIVES = [
  "default-src 'none'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

/** A Content-Security-Policy with the directives of every page, and those of one. */
export function contentSecurityPolicy(own: readonly string[]): string {
  return [...DIRECTIVES, ...own].join('; ')
}
