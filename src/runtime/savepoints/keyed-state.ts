import { systemClock } from '../../core/clock.ts'
import { WeirError } from '../../core/errors.ts'
import type { KeyGroupRange } from '../../core/key-group.ts'
import { MetricGroup } from '../../core/metrics.ts'
import { openKeyedState } from '../../state/open-keyed-state.ts'
import type { ChangeSink, StateDeclaration } from '../../state/port/change.ts'
import type { KeyedStateBackend } from '../../state/port/keyed-state-backend.ts'
import type {
  CheckpointManifest,
  OperatorManifest,
} from '../checkpoint/protocol/checkpoint-types.ts'
import { planRestore, type SubtaskRestore } from '../checkpoint/protocol/restore-plan.ts'
import { restoreChain } from '../checkpoint/segment/restore-chain.ts'
import type { SegmentWriter } from '../checkpoint/segment/writer.ts'
import type { CheckpointStorage } from '../checkpoint/storage/checkpoint-storage.ts'

/** Stored bytes of an operator that are read into memory at a time, about. */
const PART_BYTES = 64 * 1024 * 1024

/** Opens keyed state in memory, empty, for a range of key groups. */
export async function openInMemory(
  uid: string,
  keyGroups: KeyGroupRange,
  maxParallelism: number,
): Promise<KeyedStateBackend> {
  return await openKeyedState({
    operatorUid: uid,
    slot: 0,
    keyGroups,
    maxParallelism,
    storeType: 'heap',
    storeDirectory: '',
    memoryBudgetBytes: Number.MAX_SAFE_INTEGER,
    clock: systemClock,
    listener: { tableOpened() {}, tableDropped() {}, queryableDeclared() {} },
    metrics: new MetricGroup(),
  })
}

/** The stored state of an operator in parts of its key groups, each of which fits in memory. */
export function partsOf(
  manifest: Pick<CheckpointManifest, 'operators'>,
  { uid, segments, maxParallelism }: OperatorManifest,
): readonly SubtaskRestore[] {
  const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0)
  const parallelism = Math.min(maxParallelism, Math.max(1, Math.ceil(bytes / PART_BYTES)))
  return planRestore(manifest, [{ uid, parallelism, maxParallelism }], {
    allowNonRestoredState: true,
  }).get(uid)!
}

/** Reads one part into empty state; `declare` declares the states that are wanted. */
export async function restorePart(
  storage: CheckpointStorage,
  part: SubtaskRestore,
  { state, declare }: { readonly state: KeyedStateBackend; readonly declare: () => Promise<void> },
): Promise<void> {
  state.beginRestore(part.declarations as readonly StateDeclaration[])
  await declare()
  await restoreChain({
    storage,
    segments: part.segments,
    keyGroups: part.keyGroups,
    visit: (group, name, entry) => state.restoreSpan(group, name, entry),
    wanted: () => -1,
  })
  state.endRestore(1)
}

/** Writes all entries of keyed state into `sink`, at the pace of the segment behind it. */
export async function writeSnapshot(
  state: KeyedStateBackend,
  sink: ChangeSink,
  writer: SegmentWriter,
): Promise<void> {
  const snapshot = state.snapshot(1, sink, true)
  while (!snapshot.step(1)) await writer.whenReady()
}

/** Copies all stored entries of an operator, part by part. Throws UNSUPPORTED where it has rows of a model. */
export async function copyEntries(
  storage: CheckpointStorage,
  operator: OperatorManifest,
  sink: ChangeSink,
  writer: SegmentWriter,
): Promise<void> {
  const { uid, maxParallelism, declarations } = operator
  if (declarations.some(({ kind }) => kind === 'vector')) {
    throw new WeirError('UNSUPPORTED', `operator "${uid}" has rows of a model, which do not change`)
  }
  for (const part of partsOf({ operators: [operator] }, operator)) {
    const state = await openInMemory(uid, part.keyGroups, maxParallelism)
    try {
      await restorePart(storage, part, { state, declare: async () => {} })
      await writeSnapshot(state, sink, writer)
    } finally {
      state.close()
    }
  }
}
