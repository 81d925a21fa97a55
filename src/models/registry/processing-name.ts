import { createHash } from 'node:crypto'
import type { DataFile, DataRange } from './ranges/data-range.ts'
import { areSameObservations } from './ranges/observations-digest.ts'
import type { Hyperparameters, RegisteredVersion } from './version.ts'

/** Inputs that a version is made from. */
export interface ProcessingInputs {
  readonly ranges: readonly DataRange[]
  readonly files: readonly DataFile[]
  /** How the files are read, where that is not as usual: other columns are other data. @default as usual */
  readonly reading?: string
  readonly code: string
  readonly hyperparameters: Hyperparameters
  /** Id of the version whose rows the training starts from; undefined if it starts from random rows. */
  readonly parent?: string | undefined
  /** Whether the name depends on what was read of the ranges, too. @default false, as in earlier builds */
  readonly withDigests?: boolean
}

/**
 * The processing name of a version: `<trainer>-` and 16 hex digits of the SHA-256 over data ranges with
 * the ids of their topics, hashes of files, parameters, code and the version of a warm start. It depends neither on
 * their order nor on names of files. Where two names are equal, a second training gives the same version, unless the topic
 * has other records by then: of ranges with digests (`withDigests`) the name depends on these, too.
 */
export function processingName(inputs: ProcessingInputs): string {
  const ranges = inputs.ranges
    .filter(({ from, to }) => to > from)
    .map(
      ({ topic, partition, from, to, topicId = '', read }) =>
        `${topic}/${partition}:${from}-${to}${topicId === '' ? '' : `@${topicId}`}${inputs.withDigests === true ? `#${read?.all.count}-${read?.all.sum}` : ''}`,
    )
    .sort()
  const { reading } = inputs
  const files = inputs.files
    .map(({ sha256 }) => (reading === undefined ? sha256 : `${sha256}#${reading}`))
    .sort()
  const parameters = Object.entries(inputs.hyperparameters).sort(([a], [b]) => (a < b ? -1 : 1))
  const hash = createHash('sha256')
    .update(JSON.stringify([ranges, files, inputs.code, parameters, inputs.parent ?? null]))
    .digest('hex')
  return `${inputs.code.split('/')[0]}-${hash.slice(0, 16)}`
}

/** A version that was made from the same inputs. */
export interface KnownVersion {
  readonly version: RegisteredVersion
  /** The version is of an earlier build and does not say the id of its topic: that of the inputs is taken for it. */
  readonly isAssumed: boolean
}

/**
 * The version, not retired, that a training of these inputs would give again; `parents`: versions whose rows it may start
 * from. Undefined if there is none.
 */
export function versionOfInputs(
  versions: readonly RegisteredVersion[],
  inputs: Omit<ProcessingInputs, 'parent'>,
  parents: readonly (string | undefined)[],
): KnownVersion | undefined {
  const namesOf = (ranges: readonly DataRange[]): readonly string[] =>
    parents.map((parent) => processingName({ ...inputs, ranges, parent }))
  const names = namesOf(inputs.ranges)
  const namesWithoutIds = namesOf(inputs.ranges.map(({ topicId: _, ...range }) => range))
  for (const version of versions) {
    if (version.state === 'retired') continue
    if (names.includes(version.processingName)) return { version, isAssumed: false }
    const isOld = version.lineage.ranges.every(({ topicId }) => topicId === undefined)
    if (isOld && namesWithoutIds.includes(version.processingName)) {
      return { version, isAssumed: true }
    }
  }
  return undefined
}

/** Whether two trainings have read other records at the same places: of a log and of a copy that went its own way. */
function haveReadOthers(left: readonly DataRange[], right: readonly DataRange[]): boolean {
  return left.some((range) => {
    const same = right.find(({ topic, partition }) => {
      return topic === range.topic && partition === range.partition
    })
    return areSameObservations(range.read?.all, same?.read?.all) === false
  })
}

/** Whether two versions of one registry were made from the same inputs, as far as their records say. */
export function mayBeOfSameInputs(left: RegisteredVersion, right: RegisteredVersion): boolean {
  const areNamedAlike = left.processingName === right.processingName
  return areNamedAlike && !haveReadOthers(left.lineage.ranges, right.lineage.ranges)
}

/** Whether two versions were made from the same inputs, in one registry or in two. */
export function areOfSameInputs(left: RegisteredVersion, right: RegisteredVersion): boolean {
  if (!mayBeOfSameInputs(left, right)) return false
  // Names of earlier builds do not say of which topic: two machines may give the same one to other data.
  return left.id === right.id || left.lineage.ranges.every(({ topicId }) => (topicId ?? '') !== '')
}
