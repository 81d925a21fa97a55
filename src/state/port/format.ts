import { WeirError } from '../../core/errors.ts'
import type { ModelVersion } from '../../core/model-version.ts'
import type { StateDeclaration, StateName } from './change.ts'
import type { TypedStateDescriptor, VectorStateDescriptor } from './descriptors.ts'

/** Marks formats whose values start with an expiry time. */
const TTL_SUFFIX = '+ttl'
/** Marks formats of lists that may have chunks: builds that do not know them refuse to restore them. */
const CHUNKS_SUFFIX = '+chunks'

/** The declaration of a typed state: stored in a checkpoint and compared at restore. */
export function declarationOf(descriptor: TypedStateDescriptor): StateDeclaration {
  const { kind, name, serializer } = descriptor
  const values = kind === 'map' ? `${descriptor.keySerializer.id}->${serializer.id}` : serializer.id
  const format = descriptor.ttl === undefined ? values : values + TTL_SUFFIX
  return upToDate({ name, kind, format })
}

/** The declaration as this build makes it: lists of an older build had no chunks, but may have some from now on. */
export function upToDate(declaration: StateDeclaration): StateDeclaration {
  const { kind, format } = declaration
  if (kind !== 'list' || hasExpiry(format) || format.endsWith(CHUNKS_SUFFIX)) return declaration
  return { ...declaration, format: format + CHUNKS_SUFFIX }
}

/** The declaration of a timer queue; the prefix keeps it apart from states of the same name. */
export function timersDeclaration(queue: string): StateDeclaration {
  return { name: `timers:${queue}`, kind: 'timers', format: 'timestamp-key-namespace/1' }
}

/** The declaration of one version of a vector state. */
export function vectorDeclaration(
  { name, dimension }: Pick<VectorStateDescriptor, 'name' | 'dimension'>,
  version: number,
): StateDeclaration {
  return { name: `${name}@${version}`, kind: 'vector', format: `float32[${dimension}]` }
}

const VECTOR_FORMAT = /^float32\[([0-9]+)\]$/

/** Floats of a row of a declared version of a vector state; undefined for other declarations. */
export function declaredDimension({ kind, format }: StateDeclaration): number | undefined {
  const digits = kind === 'vector' ? VECTOR_FORMAT.exec(format)?.[1] : undefined
  return digits === undefined ? undefined : Number(digits)
}

/** The parts of `<name>@<version>`, a declared version of a vector state; other names have no version. */
export function splitVectorName(state: StateName): {
  readonly name: string
  readonly version: ModelVersion | undefined
} {
  const at = state.lastIndexOf('@')
  const version = at < 0 ? Number.NaN : Number(state.slice(at + 1))
  if (!Number.isInteger(version)) return { name: state, version: undefined }
  return { name: state.slice(0, at), version: version as ModelVersion }
}

/** Whether values of this format start with an expiry time. */
export function hasExpiry(format: string): boolean {
  return format.endsWith(TTL_SUFFIX)
}

/** The ids of the serializers in a format. */
export function valuesFormat(format: string): string {
  const ttl = format.endsWith(TTL_SUFFIX) ? TTL_SUFFIX.length : 0
  const chunks = format.endsWith(CHUNKS_SUFFIX) ? CHUNKS_SUFFIX.length : 0
  return format.slice(0, format.length - ttl - chunks)
}

/** Throws STATE_CONFLICT unless both say the same about a state. */
export function requireSameDeclaration(
  declared: StateDeclaration,
  known: StateDeclaration,
  operatorUid: string,
): void {
  if (declared.kind === known.kind && declared.format === known.format) return
  throw new WeirError(
    'STATE_CONFLICT',
    `state "${declared.name}" of operator "${operatorUid}" is declared as ${textOf(declared)} ` +
      `but exists as ${textOf(known)}; ${HOW_TO_MIGRATE}`,
    { details: { state: declared.name, operator: operatorUid } },
  )
}

/** STATE_CONFLICT for a state whose stored form cannot become the declared one; `reason` says why. */
export function cannotEvolve(
  stored: StateDeclaration,
  declared: StateDeclaration,
  { operatorUid, reason }: { readonly operatorUid: string; readonly reason: string },
): WeirError {
  return new WeirError(
    'STATE_CONFLICT',
    `state "${declared.name}" of operator "${operatorUid}" is ${textOf(stored)} in the checkpoint ` +
      `and ${textOf(declared)} in the job: ${reason}; ${HOW_TO_MIGRATE}`,
    { details: { state: declared.name, operator: operatorUid } },
  )
}

/** What to do about state that the job cannot read; ends a message. */
export const HOW_TO_MIGRATE =
  'declare it as it was, or under a new name, or write it in the new form with SavepointReader and SavepointWriter (docs/guide/state-evolution.md)'

/** The flag that starts a job whose types have changed; ends a message. */
export const HOW_TO_GO_ON =
  'or allow non-restored state (--allow-non-restored-state), which starts without this check'

function textOf({ kind, format }: StateDeclaration): string {
  return `${kind} (${format})`
}
