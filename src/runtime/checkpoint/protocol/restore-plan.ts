import { WeirError } from '../../../core/errors.ts'
import { type KeyGroupRange, keyGroupRangeOf } from '../../../core/key-group.ts'
import type {
  CheckpointManifest,
  OperatorManifest,
  OperatorStateEntries,
  SegmentReference,
} from './checkpoint-types.ts'
import { hasLostKeys, hasState, keyedBytes, stateBytes } from './dropped-state.ts'
import { chainOf } from './segment-chain.ts'

/** An operator of the job that is to be restored. */
export interface RestoringOperator {
  readonly uid: string
  readonly parallelism: number
  readonly maxParallelism: number
  /** Whether it has keyed state; true where it is not said. */
  readonly isKeyed?: boolean | undefined
  /** States that are declared in the graph; others are compared when an operator declares them. */
  readonly declarations?: OperatorManifest['declarations']
}

/** State that one new subtask restores. */
export interface SubtaskRestore {
  readonly uid: string
  readonly subtask: number
  readonly keyGroups: KeyGroupRange
  /** Newest first, the order in which they are read: the first entry of a key counts. */
  readonly segments: readonly SegmentReference[]
  readonly declarations: OperatorManifest['declarations']
  /** Non-keyed state by name. */
  readonly operatorState: ReadonlyMap<string, readonly Uint8Array[]>
}

/** Options of a restore. */
export interface RestoreOptions {
  /** Accept state of operators that the job no longer has, and drop it. @default false */
  readonly allowNonRestoredState?: boolean
  /** Names of operator state that begin so are no state by themselves. @default none */
  readonly aboutState?: string
}

/** Restores of subtasks by operator uid, without operators that have no state in the checkpoint. */
export type RestorePlan = ReadonlyMap<string, readonly SubtaskRestore[]>

/**
 * Distributes a checkpoint's state over a job's subtasks. Throws STATE_LEFT_OVER when the job lacks an
 * operator that has state, MAX_PARALLELISM_CHANGED, STATE_CONFLICT when a state is declared otherwise.
 */
export function planRestore(
  manifest: Pick<CheckpointManifest, 'operators'>,
  operators: readonly RestoringOperator[],
  options: RestoreOptions = {},
): RestorePlan {
  const byUid = new Map(operators.map((operator) => [operator.uid, operator]))
  const plan = new Map<string, SubtaskRestore[]>()
  for (const stored of manifest.operators) {
    const operator = byUid.get(stored.uid)
    if (operator === undefined) {
      if (hasState(stored, options.aboutState) && options.allowNonRestoredState !== true) {
        throw leftOver(stored)
      }
    } else if (hasLostKeys(stored, operator) && options.allowNonRestoredState !== true) {
      throw lostKeys(stored)
    } else {
      checkSameShape(stored, operator)
      plan.set(stored.uid, planOperator(stored, operator))
    }
  }
  return plan
}

function planOperator(stored: OperatorManifest, operator: RestoringOperator): SubtaskRestore[] {
  const { uid, parallelism, maxParallelism } = operator
  return Array.from({ length: parallelism }, (_, subtask) => {
    const keyGroups = keyGroupRangeOf(subtask, parallelism, maxParallelism)
    return {
      uid,
      subtask,
      keyGroups,
      segments: [...chainOf(stored.segments, keyGroups)].reverse(),
      declarations: stored.declarations,
      operatorState: redistribute(stored.operatorState, subtask, parallelism),
    }
  })
}

/** Entries of every non-keyed state that a subtask gets. */
function redistribute(
  stored: readonly (readonly OperatorStateEntries[])[],
  subtask: number,
  parallelism: number,
): Map<string, readonly Uint8Array[]> {
  const kinds = new Map<string, OperatorStateEntries['redistribution']>()
  for (const states of stored) {
    for (const state of states) kinds.set(state.name, state.redistribution)
  }
  const entries = new Map<string, readonly Uint8Array[]>()
  for (const [name, kind] of kinds) {
    const lists = stored.map((states) => states.find((s) => s.name === name)?.entries ?? [])
    entries.set(name, shareOf(lists, { kind, subtask, parallelism }))
  }
  return entries
}

interface Share {
  readonly kind: OperatorStateEntries['redistribution']
  readonly subtask: number
  readonly parallelism: number
}

/**
 * A subtask's share of the lists of all old subtasks; split state stays at its subtask if the
 * parallelism is unchanged.
 */
function shareOf(
  lists: readonly (readonly Uint8Array[])[],
  { kind, subtask, parallelism }: Share,
): readonly Uint8Array[] {
  if (kind === 'union' || kind === 'channels') return lists.flat()
  if (kind === 'broadcast') return lists[subtask % lists.length]!
  if (lists.length === parallelism) return lists[subtask]!
  return lists.flat().filter((_, i) => i % parallelism === subtask)
}

function checkSameShape(stored: OperatorManifest, operator: RestoringOperator): void {
  const stays = stored.segments.length > 0 || stored.declarations.length > 0
  if (stays && operator.isKeyed !== false && stored.maxParallelism !== operator.maxParallelism) {
    throw new WeirError(
      'MAX_PARALLELISM_CHANGED',
      `operator ${stored.uid} was checkpointed with max parallelism ${stored.maxParallelism} and now has ${operator.maxParallelism}; set pipeline.max-parallelism=${stored.maxParallelism}, or call setMaxParallelism(${stored.maxParallelism})`,
    )
  }
  for (const declaration of operator.declarations ?? []) {
    const old = stored.declarations.find((d) => d.name === declaration.name)
    if (old === undefined) continue
    if (old.kind === declaration.kind && old.format === declaration.format) continue
    throw new WeirError(
      'STATE_CONFLICT',
      `state ${declaration.name} of operator ${stored.uid} was ${old.kind} (${old.format}) in the checkpoint and is now ${declaration.kind} (${declaration.format}); declare it as it was, or under a new name`,
    )
  }
}

function leftOver(operator: OperatorManifest): WeirError {
  return new WeirError(
    'STATE_LEFT_OVER',
    `the checkpoint holds state of operator ${operator.uid} (${stateBytes(operator)} bytes), which the job does not have; give an operator that uid, or allow non-restored state (--allow-non-restored-state)`,
  )
}

function lostKeys(operator: OperatorManifest): WeirError {
  return new WeirError(
    'STATE_LEFT_OVER',
    `the checkpoint holds keyed state of operator ${operator.uid} (${keyedBytes(operator)} bytes), whose input has no key in this job; call keyBy before it, give it another uid, or allow non-restored state (--allow-non-restored-state), which drops its keyed state`,
  )
}
