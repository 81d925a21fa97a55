import { hostname } from 'node:os'
import { scanTopic } from '../../connectors/topics/scan.ts'
import type { TopicStore } from '../../connectors/topics/store.ts'
import { isCandidate } from '../../models/registry/adopt.ts'
import type { RegisteredVersion, RegistryState } from '../../models/registry/version.ts'
import {
  type ModelVersionMarker,
  readableMarker,
  versionOfMarkerKey,
} from '../../models/registry/version-marker.ts'
import { retireVersions } from '../registry/retire-version.ts'
import type { RetrainOptions } from './options.ts'

/** Hyperparameter of a candidate's marker: the retraining that publishes it, as `<host>/<process>/<number>`. */
export const RETRAINING = 'retraining'

/** Age from which a retraining of another machine counts as ended, ms. */
const ABANDONED_MS = 24 * 3_600_000

/** Retrainings of this process that go on. */
const running = new Set<string>()
let started = 0

/** The name of a retraining of this process, until it is disposed of. */
export class RetrainingName implements Disposable {
  readonly name = `${hostname()}/${process.pid}/${++started}`

  constructor() {
    running.add(this.name)
  }

  [Symbol.dispose](): void {
    running.delete(this.name)
  }
}

/**
 * Deletes the candidates that retrainings left in the topic of the model when they were killed or failed, and
 * returns the registry without them. A candidate that the registry got from the topic
 * (`ModelRegistry.adopt`) is retired there, too.
 */
export async function sweepCandidates(
  topics: TopicStore,
  { registry, model, clock, onStep }: RetrainOptions,
): Promise<RegistryState> {
  const state = await registry.read()
  if (!(await topics.has(model))) return state
  const registered = state.versions.get(model)
  const nowMs = clock.nowMs()
  const versions = (await candidatesOf(topics, model))
    .filter(({ retraining, atMs }) => hasEnded(retraining, nowMs - atMs))
    .map(({ version }) => version)
    .filter((version) => isAbandoned(registered?.get(version)))
  if (versions.length === 0) return state
  onStep?.(`deleting version ${versions.join(', ')}, which a retraining left unfinished`)
  for (const number of versions) {
    if (registered?.has(number) !== true) continue
    await registry.require({ kind: 'retire', name: model, number, atMs: nowMs })
  }
  await retireVersions(topics, model, { versions, clock })
  return await registry.read()
}

/** Whether no retraining has registered the candidate, and no person has promoted it. */
function isAbandoned(version: RegisteredVersion | undefined): boolean {
  if (version === undefined) return true
  return version.state === 'candidate' && version.lineage.code === 'published'
}

/** A candidate in the topic of a model, whole or in part. */
interface Candidate {
  readonly version: number
  readonly retraining: string
  /** Time of its last marker, ms since 1970. */
  readonly atMs: number
}

async function candidatesOf(topics: TopicStore, model: string): Promise<readonly Candidate[]> {
  const candidates = new Map<number, Candidate>()
  await scanTopic(topics, model, (record) => {
    const key = record.key()
    const version = key === null ? undefined : versionOfMarkerKey(key)
    if (version === undefined) return true
    const value = record.value()
    const retraining = value === null ? undefined : retrainingOf(readableMarker(value))
    if (retraining === undefined) candidates.delete(version)
    else candidates.set(version, { version, retraining, atMs: record.timestamp })
    return true
  })
  return [...candidates.values()]
}

function retrainingOf(marker: ModelVersionMarker | undefined): string | undefined {
  if (marker === undefined || marker.event === 'retire' || !isCandidate(marker)) return undefined
  const name = marker.hyperparameters[RETRAINING]
  return typeof name === 'string' ? name : undefined
}

/** Whether a retraining has ended; one of another machine is believed to go on for a day. */
export function hasEnded(retraining: string, ageMs: number): boolean {
  const [host, pid] = retraining.split('/')
  if (host !== hostname()) return ageMs > ABANDONED_MS
  if (Number(pid) === process.pid) return !running.has(retraining)
  try {
    process.kill(Number(pid), 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}
