import { type HotLimits, RequestReader } from '../../../src/gateway/hot/request-reader.ts'

/** Fields of a head that every request has. */
export const HEAD = 'Host: localhost\r\n'

/** Longest body of a hot request, bytes. */
export const MAX_BODY_BYTES = 1000
/** Longest hot observation, bytes. */
export const MAX_OBSERVATION_BYTES = 200
/** Limits of the readers of the tests. */
export const LIMITS: HotLimits = {
  maxBodyBytes: MAX_BODY_BYTES,
  maxObservationBytes: MAX_OBSERVATION_BYTES,
  onlyLoopbackNames: false,
}

/** The reader of a text that begins with a whole hot request; undefined for another text. */
export function read(text: string, at = 0): RequestReader | undefined {
  const reader = new RequestReader(LIMITS)
  return reader.read(text, at) === 'whole' ? reader : undefined
}
