import type { Clock } from '../../../core/clock.ts'
import { isWeirError, WeirError } from '../../../core/errors.ts'
import { PROCESS_PLACE, processIdentity, processState } from '../../../files/running-process.ts'
import {
  type ClaimDecision,
  decideClaim,
  decodeOwner,
  isSameProcess,
  type JobOwner,
  type OwnerState,
} from '../protocol/job-owner.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import { epochPath, releasedPath } from '../storage/paths.ts'
import { fileExists, type JobFolder, jobFilesOf, type WarningListener } from './job-folder.ts'

/** The process that claims a job's folder, and what it knows of the one that has it. */
export interface Claimant {
  readonly owner: JobOwner
  readonly stateOf: (owner: JobOwner) => OwnerState
  /** Whether it takes the job over from an owner that runs. */
  readonly isTakeOver: boolean
}

/** This process as the claimant of a job. */
export function processClaimant(jobName: string, isTakeOver: boolean, clock: Clock): Claimant {
  const owner = {
    jobName,
    ...processIdentity(process.pid),
    ...PROCESS_PLACE,
    sinceMs: clock.nowMs(),
  }
  return { owner, stateOf: processState, isTakeOver }
}

/** Throws JOB_ALREADY_RUNNING if the newest claim of a job's folder names another process, which runs. */
export async function requireOwnerGone(folder: JobFolder, claimant: Claimant): Promise<void> {
  const { claims } = jobFilesOf(folder.jobId, await folder.storage.list(folder.jobId))
  await followOwner(folder, Math.max(0, ...claims), claimant, () => {})
}

/**
 * Reads who made the claim of a generation. Warns where that process may still run the job and the claimant
 * follows it nevertheless. Throws JOB_ALREADY_RUNNING if it keeps the job.
 */
export async function followOwner(
  { storage, jobId }: JobFolder,
  generation: number,
  claimant: Claimant,
  warn: WarningListener,
): Promise<void> {
  const owner = await ownerOf(storage, epochPath(jobId, generation))
  if (owner === undefined || isSameProcess(owner, claimant.owner)) return
  const { stateOf, isTakeOver } = claimant
  const state = stateOf(owner)
  if (state !== 'ended' && (await fileExists(storage, releasedPath(jobId, generation)))) return
  const decision = decideClaim({ state, isTakeOver })
  if (decision.kind === 'refuse') throw alreadyRunning(owner, jobId)
  if (decision.kind === 'take-over') warn(takenOver(owner, decision.why))
}

async function ownerOf(storage: CheckpointStorage, path: string): Promise<JobOwner | undefined> {
  try {
    return decodeOwner(await storage.read(path))
  } catch (error) {
    if (isWeirError(error, 'CHECKPOINT_NOT_FOUND')) return undefined
    throw error
  }
}

function alreadyRunning(owner: JobOwner, jobId: string): WeirError {
  const message = `job "${owner.jobName}" runs already: ${nameOf(owner)} has its claim (${jobId}). Stop that process, or start this one with --take-over, which ends the other; two side by side need two folders (--data-dir)`
  return new WeirError('JOB_ALREADY_RUNNING', message, { details: { pid: owner.pid } })
}

const WHY: Readonly<Record<(ClaimDecision & { kind: 'take-over' })['why'], string>> = {
  asked: 'runs',
  stopped: 'is stopped (SIGSTOP or Ctrl-Z)',
  elsewhere:
    'is in another container or on another machine, where this one cannot see whether it runs',
}

function takenOver(owner: JobOwner, why: keyof typeof WHY): WeirError {
  const message = `job "${owner.jobName}" was taken over from ${nameOf(owner)}, which ${WHY[why]}; if it still works on the job, it ends with COORDINATOR_FENCED`
  return new WeirError('JOB_ALREADY_RUNNING', message, { details: { pid: owner.pid } })
}

function nameOf({ pid, host, sinceMs }: JobOwner): string {
  return `process ${pid} of host "${host}", since ${new Date(sinceMs).toISOString()},`
}
