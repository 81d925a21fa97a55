import { WeirError } from '../../core/errors.ts'
import { DEFAULT_MAX_KEY_BYTES } from '../../state/port/key-length.ts'
import { alsKey } from '../als/row-key.ts'

const ROW_OF = { U: 'user', I: 'item', W: 'block' } as const

/** Most bytes of UTF-8 in a character of a JavaScript string. */
const MOST_BYTES = 3

/**
 * Throws KEY_TOO_LONG unless the row of an id can be served: its key, without the version, has at most
 * `maxKeyBytes`.
 */
export function checkKeyLength(
  id: string,
  kind: keyof typeof ROW_OF,
  maxKeyBytes: number = DEFAULT_MAX_KEY_BYTES,
): void {
  const key = alsKey(id, kind)
  if (key.length * MOST_BYTES <= maxKeyBytes) return
  const bytes = Buffer.byteLength(key)
  if (bytes <= maxKeyBytes) return
  throw new WeirError(
    'KEY_TOO_LONG',
    `the ${ROW_OF[kind]} id "${id}" makes a row key of ${bytes} bytes, and rows are served under keys of at most ${maxKeyBytes}; shorten the id, or publish and serve with maxKeyBytes (--max-key-bytes) ${Math.ceil(bytes / 8) * 8} or more`,
    { details: { id, bytes, maxKeyBytes } },
  )
}
