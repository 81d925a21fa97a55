import {
  createToken,
  TOKEN_RANDOM_BYTES,
  type TokenAttributes,
  type TokenRecord,
} from '../../../src/http/access/token.ts'

/** A token made of one byte, so that tests know it. */
export function tokenOf(
  byte: number,
  attributes: Partial<TokenAttributes> = {},
): { readonly text: string; readonly record: TokenRecord } {
  const random = new Uint8Array(TOKEN_RANDOM_BYTES).fill(byte)
  return createToken({ name: '', role: 'read', createdMs: 0, ...attributes }, random)
}
