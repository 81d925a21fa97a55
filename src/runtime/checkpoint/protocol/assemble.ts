import { WeirError } from '../../../core/errors.ts'
import type {
  CheckpointAck,
  OperatorManifest,
  OperatorSnapshot,
  SegmentReference,
} from './checkpoint-types.ts'
import {
  appendSegment,
  byAge,
  type ChainReplacement,
  replaceSegments,
  type SegmentChain,
} from './segment-chain.ts'

/** Facts from which a new checkpoint is assembled. */
export interface AssembleFacts {
  /** Acknowledgements of every task. */
  readonly acks: Iterable<CheckpointAck>
  /** Last completed checkpoint that this attempt builds on; undefined on a fresh start. */
  readonly previous:
    | { readonly checkpointId: number; readonly operators: readonly OperatorManifest[] }
    | undefined
  /** Finished compactions by operator uid, in the order they were made. */
  readonly compactions: readonly { readonly uid: string; readonly replacement: ChainReplacement }[]
}

/** The state of every operator in the new checkpoint, and the compactions that were not used. */
export interface Assembled {
  readonly operators: readonly OperatorManifest[]
  /** Outputs of compactions whose inputs are no longer in the chain, and which are not needed. */
  readonly unusedOutputs: readonly string[]
}

/**
 * Assembles the new state from the chains of the last completed checkpoint and the acknowledgements:
 * applies compactions and appends the reported segments. A task reports every segment that is in no
 * completed checkpoint of which it was notified, so that segments of aborted checkpoints are kept.
 * Segments up to the last completed checkpoint are already in its chain (perhaps compacted) and are
 * left out. Throws ILLEGAL_STATE when a subtask of an operator is missing or reported twice.
 */
export function assembleOperators(facts: AssembleFacts): Assembled {
  const previous = new Map(facts.previous?.operators.map((operator) => [operator.uid, operator]))
  const { chains, unusedOutputs } = compactedChains(facts, previous)
  const operators = [...snapshotsByUid(facts.acks)].map(([uid, snapshots]) =>
    assembleOperator(snapshots, {
      previous: previous.get(uid),
      chain: chains.get(uid) ?? [],
      lastId: facts.previous?.checkpointId ?? 0,
    }),
  )
  operators.sort((a, b) => (a.uid < b.uid ? -1 : 1))
  return { operators, unusedOutputs }
}

function compactedChains(
  facts: AssembleFacts,
  previous: ReadonlyMap<string, OperatorManifest>,
): { chains: Map<string, SegmentChain>; unusedOutputs: string[] } {
  const chains = new Map<string, SegmentChain>()
  for (const [uid, operator] of previous) chains.set(uid, operator.segments)
  const unusedOutputs: string[] = []
  for (const { uid, replacement } of facts.compactions) {
    const replaced = replaceSegments(chains.get(uid) ?? [], replacement)
    if (replaced === undefined) unusedOutputs.push(replacement.output.path)
    else chains.set(uid, replaced)
  }
  return { chains, unusedOutputs }
}

function snapshotsByUid(acks: Iterable<CheckpointAck>): Map<string, OperatorSnapshot[]> {
  const byUid = new Map<string, OperatorSnapshot[]>()
  for (const ack of acks) {
    for (const snapshot of ack.operators) {
      const snapshots = byUid.get(snapshot.uid)
      if (snapshots === undefined) byUid.set(snapshot.uid, [snapshot])
      else snapshots.push(snapshot)
    }
  }
  return byUid
}

function assembleOperator(
  snapshots: readonly OperatorSnapshot[],
  base: {
    readonly previous: OperatorManifest | undefined
    readonly chain: SegmentChain
    readonly lastId: number
  },
): OperatorManifest {
  const ordered = inSubtaskOrder(snapshots)
  const { uid, parallelism, maxParallelism, isKeyed } = ordered[0]!
  const added = ordered.flatMap((s) => s.segments).filter((s) => s.checkpointId > base.lastId)
  const segments = added.sort(byAge).reduce<SegmentChain>(appendSegment, isKeyed ? base.chain : [])
  return {
    uid,
    parallelism,
    maxParallelism,
    declarations: joinDeclarations(base.previous, segments, ordered),
    segments,
    operatorState: ordered.map((snapshot) => snapshot.operatorState),
  }
}

function inSubtaskOrder(snapshots: readonly OperatorSnapshot[]): OperatorSnapshot[] {
  const ordered = [...snapshots].sort((a, b) => a.subtask - b.subtask)
  const { uid, parallelism } = ordered[0]!
  const complete =
    ordered.length === parallelism &&
    ordered.every((s, i) => s.subtask === i && s.parallelism === parallelism)
  if (complete) return ordered
  const subtasks = ordered.map((s) => `${s.subtask}/${s.parallelism}`).join(', ')
  throw new WeirError(
    'ILLEGAL_STATE',
    `operator ${uid} was acknowledged by subtasks ${subtasks}; each of ${parallelism} subtasks must acknowledge once`,
  )
}

/**
 * Declarations of old and new segments: a subtask declares only the states that it has used. Vector
 * states are all declared, restored ones too, so one that no subtask declares is a version that was
 * dropped: what old segments have of it counts no more.
 */
function joinDeclarations(
  previous: OperatorManifest | undefined,
  segments: readonly SegmentReference[],
  snapshots: readonly OperatorSnapshot[],
): OperatorManifest['declarations'] {
  const paths = new Set(segments.map((segment) => segment.path))
  const oldStays = previous?.segments.some((segment) => paths.has(segment.path)) ?? false
  const byName = new Map<string, OperatorManifest['declarations'][number]>()
  if (oldStays) {
    const others = previous!.declarations.filter(({ kind }) => kind !== 'vector')
    for (const declaration of others) byName.set(declaration.name, declaration)
  }
  for (const { declarations } of snapshots) {
    for (const declaration of declarations) byName.set(declaration.name, declaration)
  }
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}
