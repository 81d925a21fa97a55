import { aFunction } from '../options/kinds.ts'
import { checkOptions, type OptionShape } from '../options/shape.ts'
import type { Serializer } from '../serializer.ts'
import { plainMsgpackSerializer } from './msgpack-serializer.ts'
import { unparsable } from './text.ts'

/** Options of `msgpackFormat`. */
export interface MsgpackFormatOptions<T> {
  /** Checks what was unpacked, or makes a value of it; what it throws makes the record undecodable. */
  readonly check?: (unpacked: unknown) => T
}

const MSGPACK_FORMAT: OptionShape<MsgpackFormatOptions<unknown>> = { check: aFunction() }

/** MessagePack, one value a record, as other libraries write it. */
export function msgpackFormat<T>(options: MsgpackFormatOptions<T> = {}): Serializer<T> {
  checkOptions('msgpackFormat', MSGPACK_FORMAT, options)
  const { check = (unpacked: unknown) => unpacked as T } = options
  const { id, write, read } = plainMsgpackSerializer<unknown>()
  return {
    id,
    write,
    read(reader) {
      try {
        return check(read(reader))
      } catch (cause) {
        throw unparsable(id, cause)
      }
    },
  }
}
