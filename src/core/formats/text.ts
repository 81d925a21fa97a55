import { messageOf, requireArgument, WeirError } from '../errors.ts'
import { aFunction, name, required } from '../options/kinds.ts'
import { checkOptions, type OptionShape } from '../options/shape.ts'
import type { Serializer } from '../serializer.ts'
import { writeShortText } from '../text/short-text.ts'

/**
 * A format is a `Serializer` whose bytes come from others: `read` throws UNPARSABLE_RECORD with what
 * was expected, whatever the bytes are, so that a source can put the record aside.
 */
export interface TextCodec<T> {
  /** Name and version, for example `csv/1`. */
  readonly id: string
  /** The value of a text; may throw anything. */
  parse(text: string): T
  /** The text of a value. */
  format(value: T): string
}

// A byte order mark is part of the text, so that what is written is read back.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

const CODEC: OptionShape<TextCodec<never>> = {
  id: required(name),
  parse: required(aFunction()),
  format: required(aFunction()),
}

/** A format of UTF-8 text. */
export function textFormat<T>(codec: TextCodec<T>): Serializer<T> {
  checkOptions('textFormat', CODEC, codec)
  return {
    id: codec.id,
    write(value, writer) {
      const text = codec.format(value)
      requireArgument(text.isWellFormed(), `${codec.id}: a lone surrogate cannot be written`)
      writeShortText(text, writer)
    },
    read(reader) {
      try {
        return codec.parse(decoder.decode(reader.raw(reader.remaining)))
      } catch (cause) {
        throw unparsable(codec.id, cause)
      }
    },
  }
}

/** The error of a record that cannot be read: UNPARSABLE_RECORD, whatever was thrown. */
export function unparsable(format: string, cause: unknown): WeirError {
  if (cause instanceof WeirError && cause.code === 'UNPARSABLE_RECORD') return cause
  return new WeirError('UNPARSABLE_RECORD', `not ${format}: ${messageOf(cause)}`, { cause })
}
