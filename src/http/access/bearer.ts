/**
 * Token of an HTTP `Authorization` header (RFC 6750): `Bearer TOKEN`, the scheme in any case. Undefined
 * if the header is missing or has another form.
 */
export function bearerTokenOf(authorization: string | undefined): string | undefined {
  return /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i.exec(authorization ?? '')?.[1]
}
