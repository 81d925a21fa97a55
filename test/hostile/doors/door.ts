import type { BodyRoute } from './body-routes.ts'

/** What a door speaks. */
export type DoorProtocol = 'http' | 'query' | 'grpc'

/** A port that is attacked; plain data, which goes to the attackers' process. */
export interface Door {
  /** For example `gateway, TLS`. */
  readonly name: string
  readonly protocol: DoorProtocol
  readonly port: number
  readonly isTls: boolean
  /** Token of the attackers and of the good client; undefined where none is needed. */
  readonly token: string | undefined
  /** Path of HTTP that takes bodies. */
  readonly bodyPath: string
  /** All its routes of HTTP that take bodies, as its document says. */
  readonly bodyRoutes: readonly BodyRoute[]
}

/** Addresses that the attackers come from: the good client's own, one other, or eight others. */
export const ADDRESSES = {
  'the same address': ['127.0.0.1'],
  'another address': ['127.0.0.2'],
  'eight addresses': Array.from({ length: 8 }, (_, i) => `127.0.1.${i + 1}`),
} as const satisfies Readonly<Record<string, readonly string[]>>

export type Origin = keyof typeof ADDRESSES

/** Name of the model that answers the good client: it doubles `x`, an FP32 tensor `[-1, 2]`. */
export const MODEL = 'double'
/** Largest tensor that an attacker sends to the model, in rows of 8 bytes. */
export const LARGE_ROWS = 4 * 1024 * 1024
