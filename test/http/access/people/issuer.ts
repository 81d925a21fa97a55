import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** A key pair of an issuer. */
export interface IssuerKey {
  readonly kid: string
  readonly alg: 'RS256' | 'ES256'
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

export function rsaKey(kid: string): IssuerKey {
  return { kid, alg: 'RS256', ...generateKeyPairSync('rsa', { modulusLength: 2048 }) }
}

export function ecKey(kid: string): IssuerKey {
  return { kid, alg: 'ES256', ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) }
}

/** The JSON Web Key Set of some keys. */
export function keySetOf(...keys: readonly IssuerKey[]): string {
  const shown = keys.map(({ kid, alg, publicKey }) => ({
    ...publicKey.export({ format: 'jwk' }),
    ...{ kid, alg, use: 'sig' },
  }))
  return JSON.stringify({ keys: shown })
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** A signed token (RFC 7515), by Node's own functions. */
export function signed(key: IssuerKey, claims: object, header: object = {}): string {
  const { alg, kid, privateKey } = key
  const text = `${encode({ alg, kid, typ: 'JWT', ...header })}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(text), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  })
  return `${text}.${signature.toString('base64url')}`
}

/** A token without a signature. */
export function unsigned(claims: object): string {
  return `${encode({ alg: 'none', typ: 'JWT' })}.${encode(claims)}.`
}

/** A token that is signed with a shared secret: the public key of the issuer, which everyone knows. */
export function signedWithPublicKey({ kid, publicKey }: IssuerKey, claims: object): string {
  const text = `${encode({ alg: 'HS256', kid, typ: 'JWT' })}.${encode(claims)}`
  const secret = publicKey.export({ type: 'spki', format: 'pem' })
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}
