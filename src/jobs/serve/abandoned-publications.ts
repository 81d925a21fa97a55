import { openTopics } from '../../connectors/topics/open.ts'
import type { TopicsPlace } from '../../connectors/topics/place.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { asWeirError } from '../../core/errors.ts'
import { LEASE_MS, publisherState } from '../../models/registry/publisher.ts'
import type { ModelVersionMarker } from '../../models/registry/version-marker.ts'
import { abandonVersions } from '../../models/retention/retire-versions.ts'
import { machineProcesses } from '../../models/topic/publication.ts'
import type { VersionCoordinator } from '../../models/topic/version-coordinator.ts'
import type { UnfinishedNumber } from '../served-job.ts'

/** Time between two looks, ms. */
const LOOK_EVERY_MS = 2_000

/** Options of `AbandonedPublications`. */
export interface AbandonedPublicationsOptions {
  readonly versions: Pick<VersionCoordinator, 'unfinished' | 'whenApplied'>
  /** Place of the model topic. */
  readonly place: TopicsPlace
  readonly topic: string
  /** The versions that the registry has: what was being replaced in one of them is left to a person. */
  readonly registered: () => Promise<ReadonlySet<number>>
  readonly clock: Clock
  readonly onWarning?: (warning: string) => void
}

/**
 * Finds the publications whose process has ended before all rows were there, and says so in the topic
 * (`abandonVersions`): this job and every other one then drops their rows. Only a publisher that says who it is
 * (`Publisher`) is looked at.
 */
export class AbandonedPublications implements AsyncDisposable {
  private readonly options: AbandonedPublicationsOptions
  private cancel: Cancel | undefined
  private isClosed = false
  /** Publications that this job has said to be abandoned, or may not: each is tried once. */
  private readonly tried = new Set<string>()

  constructor(options: AbandonedPublicationsOptions) {
    this.options = options
  }

  /** Looks from now on. */
  start(): void {
    if (this.isClosed) return
    this.cancel = this.options.clock.after(LOOK_EVERY_MS, () => {
      void this.look().then(() => this.start())
    })
  }

  /** The versions that are not whole, as far as the job has read the topic. */
  list(): readonly UnfinishedNumber[] {
    return this.options.versions.unfinished.map((marker) => ({
      number: marker.version,
      state: this.isGone(marker) ? 'incomplete' : 'publishing',
    }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true
    this.cancel?.()
  }

  private gone(): readonly ModelVersionMarker[] {
    const { versions } = this.options
    return versions.unfinished.filter(
      (marker) => this.isGone(marker) && !this.tried.has(publicationOf(marker)),
    )
  }

  private isGone({ publisher }: ModelVersionMarker): boolean {
    if (publisher === undefined) return false
    const { process, atMs } = publisher
    const ageMs = this.options.clock.nowMs() - atMs
    return publisherState({ process, ageMs, leaseMs: LEASE_MS }, machineProcesses) === 'gone'
  }

  private async look(): Promise<void> {
    const found = this.gone()
    if (found.length === 0) return
    try {
      await this.abandon(found)
    } catch (error) {
      const { code, message } = asWeirError(error, 'CONNECTOR_FAILED')
      const numbers = found.map(({ version }) => version)
      for (const marker of found) this.tried.add(publicationOf(marker))
      this.options.onWarning?.(
        `the publication of version ${numbers.join(', ')} was interrupted, and its rows stay in memory, because this job may not say so in topic ${this.options.topic} (${code}: ${message}); drop it: weir model drop ${numbers[0]} --model ${this.options.topic}`,
      )
    }
  }

  private async abandon(found: readonly ModelVersionMarker[]): Promise<void> {
    const { versions, place, topic, clock, onWarning, registered } = this.options
    // The job may be behind: all that a process that has ended wrote is below these ends.
    await versions.whenApplied(await this.ends())
    const asked = new Set(found.map(publicationOf))
    const known = await registered()
    const left = this.gone().filter((marker) => asked.has(publicationOf(marker)))
    const markers = left.filter(({ version }) => !known.has(version))
    for (const marker of left) this.tried.add(publicationOf(marker))
    if (markers.length === 0 || this.isClosed) return
    await using topics = await openTopics(place)
    await abandonVersions(topics, topic, { markers, clock })
    for (const { version } of markers) {
      onWarning?.(
        `the publication of version ${version} was interrupted: its rows leave the memory, and the next publication or "weir model drop ${version} --model ${topic}" deletes them`,
      )
    }
  }

  /** The topics are closed before the job has read so far: it may end first, and then it never has. */
  private async ends(): Promise<readonly number[]> {
    await using topics = await openTopics(this.options.place)
    return (await topics.bounds(this.options.topic)).map(({ end }) => end)
  }
}

const publicationOf = ({ version, publisher }: ModelVersionMarker): string =>
  `${version} ${publisher?.process}`
