import { JobMember } from '../../test/system/scale-out/fixture.ts'
import { JOB_PARTITIONS, MOST_PROCESSES, type Site } from './site.ts'

const PRINTED = 3_000
const INTERRUPTED = 130

const hasJoined = (member: JobMember): boolean => member.events('joined').length > 0

/** What became of all processes of a run. */
export interface CrewTally {
  processes: number
  /** Starts of job partitions in processes that have ended. */
  starts: number
  /** Memberships that the group has taken from a process. */
  lost: number
  /** Processes that their peers have removed from the group. */
  removed: number
  generations: number
  /** Why processes gave partitions back, in words. */
  readonly givenBack: string[]
}

/** The processes of the job, at most one on each line. */
export class Crew implements AsyncDisposable {
  readonly tally: CrewTally = {
    ...{ processes: 0, starts: 0, lost: 0, removed: 0, generations: 0 },
    givenBack: [],
  }
  private readonly site: Site
  private readonly isStatic: boolean
  private readonly members = new Map<number, JobMember>()
  private readonly standing = new Set<number>()

  /** @param isStatic whether a process has the same `group.instance.id` as the one before it on its line */
  constructor(site: Site, isStatic: boolean) {
    this.site = site
    this.isStatic = isStatic
  }

  /** Lines with a process that goes on, ascending. */
  get lines(): readonly number[] {
    return [...this.members.keys()].filter((line) => !this.standing.has(line)).toSorted()
  }

  /** Lines without a process, ascending. */
  get freeLines(): readonly number[] {
    const all = Array.from({ length: MOST_PROCESSES }, (_, line) => line)
    return all.filter((line) => !this.members.has(line))
  }

  /** Starts a process on a line. */
  start(line: number): JobMember {
    const job = this.site.jobOn(line)
    const name: Record<string, string> = this.isStatic
      ? { 'group.instance.id': `line-${line}` }
      : {}
    const member = new JobMember({ ...job, settings: { ...job.settings, ...name } })
    this.members.set(line, member)
    this.tally.processes += 1
    return member
  }

  member(line: number): JobMember {
    return this.members.get(line)!
  }

  /** Ends a process without its notice. */
  async kill(line: number): Promise<void> {
    await this.member(line).kill()
    this.forget(line)
  }

  /** Ends a process by SIGTERM. Returns a violation where it does not end with 0. */
  async terminate(line: number): Promise<string | undefined> {
    const member = this.member(line)
    const { code } = await member.leave()
    this.forget(line)
    // One that has not joined yet is interrupted.
    const isEnd = code === 0 || (code === INTERRUPTED && !hasJoined(member))
    return isEnd ? undefined : `a process ended with ${code} at SIGTERM: ${said(member)}`
  }

  /** Stops a process without its notice, as a suspended machine, or lets it go on. */
  freeze(line: number, isFrozen: boolean): void {
    this.member(line).process.signal(isFrozen ? 'SIGSTOP' : 'SIGCONT')
    if (isFrozen) this.standing.add(line)
    else this.standing.delete(line)
  }

  /** Processes that have ended by themselves since the last look, in words; they are forgotten. */
  endedByThemselves(): readonly string[] {
    const ended = [...this.members].filter(([, { process }]) => process.hasEnded)
    for (const [line] of ended) this.forget(line)
    return ended.map(([line, member]) => `the process on line ${line} has ended: ${said(member)}`)
  }

  /** Whether all that go on are members, and each job partition runs in one of them, and in no second one. */
  get isShared(): boolean {
    if (!this.lines.every((line) => hasJoined(this.member(line)))) return false
    const running = this.lines.flatMap((line) => this.member(line).running)
    return running.length === JOB_PARTITIONS && new Set(running).size === JOB_PARTITIONS
  }

  /** Which job partitions run where, and what each process has said last. */
  describe(): string {
    return [...this.members]
      .map(([line, member]) => `line ${line} runs ${member.running}: ${said(member)}`)
      .join('\n')
  }

  /** Adds what the processes that still run have done to the tally. */
  countAll(): void {
    for (const line of [...this.members.keys()]) this.count(this.member(line))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.members.values()].map((member) => member[Symbol.asyncDispose]()))
  }

  private forget(line: number): void {
    this.count(this.member(line))
    this.members.delete(line)
    this.standing.delete(line)
  }

  private count(member: JobMember): void {
    const { tally } = this
    tally.starts += member.events('running').length
    tally.removed += member.events('removed').length
    tally.lost +=
      member.process.printedErrors.split('the group has removed this process').length - 1
    tally.givenBack.push(...givenBackBy(member))
    const generations = member.events('joined').map(({ generation }) => Number(generation))
    tally.generations = Math.max(tally.generations, ...generations)
  }
}

function givenBackBy({ process }: JobMember): string[] {
  return process.printedErrors.split('\n').filter((line) => line.includes('is given back'))
}

/** The end of what a process has printed. */
function said({ process }: JobMember): string {
  const { printedOutput, printedErrors } = process
  return `${printedOutput.slice(-PRINTED)}${printedErrors.slice(-PRINTED)}`
}
