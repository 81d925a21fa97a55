import { randomBytes } from 'node:crypto'
import { isWeirError, WeirError } from '../../core/errors.ts'
import { checkParallelism, type KeyGroupRange } from '../../core/key-group.ts'
import { checkOptions } from '../../core/options/shape.ts'
import { refuseArgument } from '../../core/text/refuse-argument.ts'
import { keyFormatEntry, STORED_KEYS } from '../../operators/port/stored-keys.ts'
import type { StateDeclaration } from '../../state/port/change.ts'
import { besideManifest } from '../checkpoint/manifest/read.ts'
import { writeManifest } from '../checkpoint/manifest/write-savepoint.ts'
import type {
  CheckpointManifest,
  OperatorManifest,
  OperatorStateEntries,
  SegmentReference,
} from '../checkpoint/protocol/checkpoint-types.ts'
import { copySegment } from '../checkpoint/segment/copy.ts'
import { SegmentWriter } from '../checkpoint/segment/writer.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'
import { manifestPath } from '../checkpoint/storage/paths.ts'
import { requirePath, requireUid } from './arguments.ts'
import type { StateBootstrapTransformation } from './bootstrap.ts'
import {
  type EntryChange,
  type KeyChange,
  keyChange,
  type ValueChange,
  valueChange,
} from './entry-change.ts'
import { copyEntries, writeSnapshot } from './keyed-state.ts'
import { openPlace, PLACE, type SavepointPlace, type SavepointPlaceOptions } from './place.ts'
import { SavepointReader } from './reader.ts'
import { type WindowChange, windowChange } from './window-state.ts'

/** A savepoint that the new one continues. */
interface OldSavepoint {
  readonly path: string
  readonly options: SavepointPlaceOptions
}

/** A change of the operators. */
type Change =
  | { readonly kind: 'remove'; readonly uid: string }
  | { readonly kind: 'rename'; readonly uid: string; readonly to: string }
  | {
      readonly kind: 'add'
      readonly uid: string
      readonly transformation: StateBootstrapTransformation
    }
  | { readonly kind: 'change'; readonly uid: string; readonly change: EntryChange }

/**
 * Writes a savepoint that a program makes: from nothing, or from another savepoint with some operators changed.
 * Flink's `SavepointWriter`. The changes are made in their order, at `write`.
 */
export class SavepointWriter {
  private readonly old: OldSavepoint | undefined
  private readonly maxParallelism: number | undefined
  private readonly changes: Change[] = []

  /** A savepoint without operators, for a job of this max parallelism. Throws INVALID_ARGUMENT. */
  static newSavepoint(maxParallelism: number): SavepointWriter {
    checkParallelism(1, maxParallelism)
    return new SavepointWriter(undefined, maxParallelism)
  }

  /**
   * A savepoint with the operators of another one, or of a retained checkpoint. Their state is copied as it is;
   * the old savepoint does not change. Throws INVALID_ARGUMENT for what is no path.
   */
  static fromExistingSavepoint(path: string, options: SavepointPlaceOptions = {}): SavepointWriter {
    requirePath(path, 'SavepointWriter.fromExistingSavepoint(...)')
    checkOptions('SavepointWriter.fromExistingSavepoint', PLACE, options)
    return new SavepointWriter({ path, options }, undefined)
  }

  private constructor(old: OldSavepoint | undefined, maxParallelism: number | undefined) {
    this.old = old
    this.maxParallelism = maxParallelism
  }

  /** Leaves an operator out. */
  removeOperator(uid: string): this {
    requireUid(uid, 'removeOperator(...)')
    this.changes.push({ kind: 'remove', uid })
    return this
  }

  /**
   * Adds an operator with new state: `bootstrapWith(...)`. An operator of that uid must be removed before. Throws
   * INVALID_ARGUMENT for a transformation that is not finished.
   */
  withOperator(uid: string, transformation: StateBootstrapTransformation): this {
    requireUid(uid, 'withOperator(...)')
    if (typeof (transformation as { readonly run?: unknown } | undefined)?.run !== 'function') {
      const example = 'bootstrapWith(rows).keyBy(selector).transform(() => new MyFunction())'
      refuseArgument(`withOperator("${uid}", ...)`, transformation, `new state: ${example}`)
    }
    this.changes.push({ kind: 'add', uid, transformation })
    return this
  }

  /** Gives the state of an operator to another uid, for a job whose operator has got a new one. */
  changeOperatorIdentifier(uid: string, to: string): this {
    for (const one of [uid, to]) requireUid(one, 'changeOperatorIdentifier(...)')
    this.changes.push({ kind: 'rename', uid, to })
    return this
  }

  /**
   * Makes other values of those of one keyed state: `change` gets each value, element of a list or value of a map. The
   * state keeps its kind; `to` may have another name. Throws INVALID_ARGUMENT for other kinds; `write` throws it for a
   * state that is not there, and STATE_CONFLICT where `from` is not its form.
   */
  changeValues<A, B>(uid: string, change: ValueChange<A, B>): this {
    requireUid(uid, 'changeValues(...)')
    requireChange(change, 'changeValues')
    this.changes.push({ kind: 'change', uid, change: valueChange(change) })
    return this
  }

  /**
   * Makes other contents of those of the open windows of an operator: `change` gets each accumulator, or each record of
   * windows that keep their records. `write` throws INVALID_ARGUMENT for an operator without windows, and STATE_CONFLICT
   * where `from` did not write them.
   */
  changeWindows<A, B>(uid: string, change: WindowChange<A, B>): this {
    requireUid(uid, 'changeWindows(...)')
    requireChange(change, 'changeWindows')
    this.changes.push({ kind: 'change', uid, change: windowChange(change) })
    return this
  }

  /**
   * Gives the keyed state and the timers of an operator other keys, in windows, too. The key in memory is that of
   * `from`; `to` is what `keyBy` of the changed job has. `write` throws INVALID_ARGUMENT where two keys become one.
   */
  changeKeys<A, B>(uid: string, change: KeyChange<A, B>): this {
    requireUid(uid, 'changeKeys(...)')
    requireChange(change, 'changeKeys')
    this.changes.push({ kind: 'change', uid, change: keyChange(change) })
    return this
  }

  /**
   * Writes the savepoint to a folder that holds none, and returns its path. Throws INVALID_ARGUMENT for a change of
   * an operator that is not there, or that is there already, and where the folder holds a savepoint;
   * CHECKPOINT_NOT_FOUND and CHECKSUM_MISMATCH for the old one, STORAGE_FAILED.
   */
  async write(path: string, options: SavepointPlaceOptions = {}): Promise<string> {
    const { old } = this
    requirePath(path, 'write(...)')
    checkOptions('write', PLACE, options)
    await using place = await openPlace(path, options)
    await refuseExisting(place, path)
    await using reader = old && (await SavepointReader.read(old.path, old.options))
    const from = reader?.manifest
    const copies = new SavepointCopy(place, reader?.storage)
    const operators = new Map(from?.operators.map((operator) => [operator.uid, operator]))
    const fallback = this.maxParallelism ?? from?.operators[0]?.maxParallelism ?? 128
    for (const change of this.changes) await copies.apply(change, operators, fallback)
    const kept: OperatorManifest[] = []
    for (const operator of operators.values()) kept.push(await copies.keep(operator))
    kept.sort((a, b) => (a.uid < b.uid ? -1 : 1))
    await writeManifest(place.storage, { ...headerOf(from), operators: kept }, place.folder)
    return path
  }
}

/** Puts operators into the folder of a new savepoint. */
class SavepointCopy {
  private readonly place: SavepointPlace
  private readonly source: CheckpointStorage | undefined
  private readonly removed = new Map<string, OperatorManifest>()
  private readonly added = new Set<OperatorManifest>()
  /** Names of copied segments by their path in the source. */
  private readonly names = new Map<string, string>()
  private segments = 0

  constructor(place: SavepointPlace, source: CheckpointStorage | undefined) {
    this.place = place
    this.source = source
  }

  async apply(
    change: Change,
    operators: Map<string, OperatorManifest>,
    maxParallelism: number,
  ): Promise<void> {
    const { uid } = change
    const target = change.kind === 'rename' ? change.to : uid
    const present = operators.get(uid)
    if (change.kind !== 'add' && present === undefined) throw missing(uid, operators)
    if (change.kind === 'change') {
      operators.set(uid, await this.changed(present!, change.change))
      return
    }
    if (change.kind !== 'remove' && operators.has(target)) throw alreadyThere(target)
    if (present !== undefined) {
      operators.delete(uid)
      this.removed.set(uid, present)
    }
    if (change.kind === 'rename') operators.set(target, { ...present!, uid: target })
    if (change.kind === 'add') {
      // A job that restores the operator has the max parallelism that it had.
      const most = this.removed.get(uid)?.maxParallelism ?? maxParallelism
      const operator = await this.bootstrap(uid, most, change.transformation)
      this.added.add(operator)
      operators.set(uid, operator)
    }
  }

  /** The operator as the new manifest names it; copies its segments, unless they were written here. */
  async keep(operator: OperatorManifest): Promise<OperatorManifest> {
    if (this.added.has(operator)) return operator
    const segments: SegmentReference[] = []
    for (const segment of operator.segments) segments.push(await this.copy(segment))
    return { ...operator, segments }
  }

  private async copy(segment: SegmentReference): Promise<SegmentReference> {
    let name = this.names.get(segment.path)
    if (name === undefined) {
      name = this.nextName()
      this.names.set(segment.path, name)
      const { storage, folder } = this.place
      await copySegment(this.source!, segment, { storage, path: `${folder}/${name}` })
    }
    return { ...segment, path: besideManifest(name) }
  }

  private async bootstrap(
    uid: string,
    maxParallelism: number,
    transformation: StateBootstrapTransformation,
  ): Promise<OperatorManifest> {
    const { keyed, operatorState } = await transformation.run(uid, maxParallelism)
    const declarations = keyed?.declarations() ?? []
    const base = { uid, parallelism: 1, maxParallelism, declarations }
    try {
      const segments =
        keyed === undefined
          ? []
          : [
              await this.writeSegment(keyed.keyGroups, (writer) =>
                writeSnapshot(keyed, writer, writer),
              ),
            ]
      return { ...base, segments, operatorState: [operatorState] }
    } finally {
      keyed?.close()
    }
  }

  private async changed(
    operator: OperatorManifest,
    change: EntryChange,
  ): Promise<OperatorManifest> {
    const { storage, folder } = this.place
    const isNew = this.added.has(operator)
    const source = isNew ? storage : this.source!
    const from = isNew ? { ...operator, segments: inFolder(operator.segments, folder) } : operator
    const declarations = change.declarations(
      operator.uid,
      operator.declarations as readonly StateDeclaration[],
    )
    const keyGroups = { first: 0, last: operator.maxParallelism - 1 }
    const segment = await this.writeSegment(keyGroups, async (writer) => {
      await copyEntries(source, from, change.through(writer, operator), writer)
    })
    const operatorState = operator.operatorState.map((states) => withKeyFormat(states, change))
    const result = { ...operator, declarations, segments: [segment], operatorState }
    this.added.add(result)
    return result
  }

  private async writeSegment(
    keyGroups: KeyGroupRange,
    fill: (writer: SegmentWriter) => Promise<void>,
  ): Promise<SegmentReference> {
    const name = this.nextName()
    const { storage, folder } = this.place
    const path = `${folder}/${name}`
    const writer = new SegmentWriter({ storage, path, keyGroups })
    try {
      await fill(writer)
      const written = await writer.finish({ checkpointId: 1, full: true })
      return { ...written, path: besideManifest(name) }
    } catch (error) {
      await writer.abort()
      throw error
    }
  }

  private nextName(): string {
    return `segment-${this.segments++}`
  }
}

function inFolder(
  segments: readonly SegmentReference[],
  folder: string,
): readonly SegmentReference[] {
  return segments.map((segment) => ({
    ...segment,
    path: `${folder}/${segment.path.slice(besideManifest('').length)}`,
  }))
}

function withKeyFormat(
  states: readonly OperatorStateEntries[],
  { keyFormat }: EntryChange,
): readonly OperatorStateEntries[] {
  if (keyFormat === undefined) return states
  const others = states.filter(({ name }) => name !== STORED_KEYS)
  const entries = [keyFormatEntry(keyFormat)]
  return [...others, { name: STORED_KEYS, redistribution: 'union', entries }]
}

function requireChange(given: unknown, call: string): void {
  const { from, to, change } = (given ?? {}) as Readonly<Record<string, unknown>>
  if (typeof from === 'object' && typeof to === 'object' && typeof change === 'function') return
  refuseArgument(
    `${call}(uid, ...)`,
    given,
    '{ from, to, change }: see docs/guide/state-evolution.md',
  )
}

function headerOf(from: CheckpointManifest | undefined): Omit<CheckpointManifest, 'operators'> {
  const nowMs = Date.now()
  return {
    jobId: from?.jobId ?? randomBytes(16).toString('hex'),
    jobName: from?.jobName ?? 'savepoint',
    attempt: 1,
    generation: 1,
    checkpointId: from?.checkpointId ?? 1,
    kind: 'savepoint',
    triggeredAtMs: nowMs,
    completedAtMs: nowMs,
  }
}

async function refuseExisting({ storage, folder }: SavepointPlace, path: string): Promise<void> {
  try {
    await storage.read(manifestPath(folder), 0, 1)
  } catch (error) {
    if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return
    throw error
  }
  throw new WeirError('INVALID_ARGUMENT', `${path} holds a savepoint already; give a new folder`)
}

function missing(uid: string, operators: ReadonlyMap<string, unknown>): WeirError {
  const known = [...operators.keys()].join(', ') || 'none'
  return new WeirError(
    'INVALID_ARGUMENT',
    `the savepoint has no operator "${uid}"; it has ${known}`,
  )
}

function alreadyThere(uid: string): WeirError {
  return new WeirError(
    'INVALID_ARGUMENT',
    `the savepoint has an operator "${uid}" already; call removeOperator("${uid}") before`,
  )
}
