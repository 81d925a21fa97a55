import { requireArgument } from '../../core/errors.ts'
import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import { kindOf, type OptionKind, text } from '../../core/options/kinds.ts'
import { serializer as serializerKind } from '../../core/options/ports.ts'
import { checkArgument } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'

/** Name and record type of a side output. Two tags with the same id are the same output. */
export class OutputTag<T> {
  /** 1 to 128 letters, digits, ".", "_" or "-". */
  readonly id: string
  /** Encodes the records where the side output crosses slots. */
  readonly serializer: Serializer<T>

  /** Throws INVALID_ARGUMENT for an id outside the documented characters. */
  constructor(id: string, serializer: Serializer<T> = msgpackSerializer<T>()) {
    checkArgument('new OutputTag', 'id', text, id)
    requireArgument(
      /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/.test(id),
      `the id of an output tag is 1 to 128 letters, digits, ".", "_" or "-", not "${id}"`,
    )
    this.id = id
    checkArgument('new OutputTag', 'serializer', serializerKind<T>(), serializer)
    this.serializer = serializer
  }
}

/** The kind of output tags, of any type. */
export function outputTag<T>(): OptionKind<OutputTag<T>> {
  return kindOf("an output tag: new OutputTag('late')", isTag)
}

function isTag(given: unknown): boolean {
  return typeof (given as { readonly id?: unknown } | null | undefined)?.id === 'string'
}

/** Throws INVALID_ARGUMENT for what is no output tag, such as its id alone. */
export function requireTag(given: unknown, call: string): void {
  if (isTag(given)) return
  refuseArgument(`${call}(...)`, given, "an output tag: new OutputTag('late')")
}
