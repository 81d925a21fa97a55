import { cpSync } from 'node:fs'
import { expect } from 'vitest'
import {
  accountProblems,
  differentRows,
  servedKeys,
  wrongPredictions,
} from '../../combinations/checks.ts'
import { exportedRows } from '../../combinations/exported-rows.ts'
import type { Installation } from '../../combinations/installation.ts'
import type { Face, Kind } from '../../combinations/kind.ts'
import { errorOf, untilLearned } from '../../combinations/learned.ts'
import { accountOf, placesOf } from '../../combinations/ledger.ts'
import type { Progress } from '../../combinations/plain/progress.ts'
import { certainRise, mean, riseOfLoss } from '../../combinations/plain-measures.ts'
import { type Rows, Service } from '../../combinations/service.ts'

/** Observations of a day after the second one. */
const DAY = 200

/** A week of a user with one kind of model. */
export class Week {
  private readonly kind: Kind
  private readonly at: Installation
  private readonly elsewhere: (name: string) => Installation
  private file: ReadonlySet<string> = new Set()
  private sent = 0
  private published: Rows = new Map()
  /** By version, its rows at the end of each step: what was learned on a day was learned between them. */
  private readonly seen = new Map<number, readonly Rows[]>()
  /** Losses of the step before, which the next one must not raise. */
  private losses: readonly number[] = []
  private trained: readonly number[] = []
  /** By version, its learner by plain computation. */
  private readonly progress = new Map<number, Progress>()
  /** That of version 1 in the savepoint. */
  private yesterday: Progress | undefined
  private hasFirstSlots = true
  private readonly figures: Record<string, unknown>[] = []
  private readonly services: Service[] = []

  /** `elsewhere` makes another machine. */
  constructor(kind: Kind, at: Installation, elsewhere: (name: string) => Installation) {
    this.kind = kind
    this.at = at
    this.elsewhere = elsewhere
  }

  async run(): Promise<void> {
    await this.trainAndServe()
    let service = await this.learn()
    const learned = await this.retrain(service)
    await this.rollBack(service, learned)
    const { folder, next } = await this.otherParallelism(service)
    service = await this.restoreYesterday(next, folder)
    await this.move(service)
    console.info(this.kind.name, JSON.stringify(this.figures))
  }

  /** Ends what still runs. */
  async end(): Promise<void> {
    for (const service of this.services) await service.kill()
  }

  private async start(at: Installation, ...command: string[]): Promise<Service> {
    const service = await Service.start(at, ...command)
    this.services.push(service)
    return service
  }

  private async trainAndServe(): Promise<void> {
    const { at, kind } = this
    at.write('base', kind.base)
    at.write('golden', kind.golden)
    await at.run('topic', 'create', kind.observations, '--partitions', '1')
    await at.produce(kind.observations, kind.base)
    this.file = await placesOf(at, kind.observations)
    await kind.publish(at)
    const service = await this.start(at, ...kind.serve)
    this.published = await this.served(service, 'day 1')
    await at.run('model', 'export', 'live', at.file('day-1'), '--model', kind.model)
    const exported = servedKeys(kind, exportedRows(at.file('day-1')))
    expect(differentRows(kind, this.published, exported)).toEqual([])
    this.progress.set(1, await kind.recomputed(at, 1, kind.base.length))
    this.trained = this.losses
    await service.stop()
  }

  private async learn(): Promise<Service> {
    const { at, kind } = this
    // The version was trained on a file: it does not say that the topic has the same observations.
    const service = await this.start(at, ...kind.learn, '--learn-from', 'end')
    const before = await this.served(service, 'day 2, before')
    expect(differentRows(kind, before, this.published)).toEqual([])
    await this.observe(kind.stream.length - 4 * DAY)
    await this.settle(service, 1, [before])
    await this.served(service, 'day 2')
    return service
  }

  private async retrain(service: Service): Promise<Rows> {
    const { at, kind } = this
    const learned = await this.rows(service)
    const flags = ['--model', kind.model, '--golden', at.file('golden'), ...service.toAsk]
    const said = await at.run('retrain', '--once', '--max-latency', '60000', ...flags)
    expect(said).toContain('version 2 is live')
    await service.learnsOn(2)
    await this.settle(service, 2, [])
    const before = this.losses
    await this.served(service, 'day 3')
    // A promotion promises more: it compares the two on the same cases; linear models by their hinge loss, not by labels.
    if (kind.state === 'ALS_MODEL') {
      expect(certainRise(before, this.losses)).toBeLessThanOrEqual(0)
    }
    expect(differentRows(kind, await this.rows(service, 1), learned)).toEqual([])
    this.progress.set(2, await kind.recomputed(at, 2, kind.base.length + this.sent))
    await this.observe(DAY)
    await this.settle(service, 2, [])
    await this.served(service, 'day 3, after')
    return learned
  }

  private async rollBack(service: Service, learned: Rows): Promise<void> {
    const { at, kind } = this
    const said = await at.run('model', 'rollback', '--model', kind.model)
    expect(said).toContain('version 1 of')
    // Whether the job was within the 5 s of the command is not asked: it has more time on a busy machine.
    await service.learnsOn(1, 2)
    this.losses = kind.losses(learned)
    // It learns what the other version has learned.
    await this.settle(service, 1, [this.published])
    await this.served(service, 'day 4, before')
    await this.observe(DAY)
    await this.settle(service, 1, [this.published])
    await this.served(service, 'day 4')
  }

  private async otherParallelism(service: Service): Promise<{ folder: string; next: Service }> {
    const { at, kind } = this
    const before = await this.rows(service)
    const folder = await service.stopWithSavepoint()
    this.yesterday = this.progress.get(1)!.copy()
    this.hasFirstSlots = false
    const next = await this.start(at, ...kind.learn, '-p', '3')
    expect(differentRows(kind, await this.rows(next), before)).toEqual([])
    await this.observe(DAY)
    await this.settle(next, 1, [this.published])
    await this.served(next, 'day 5')
    return { folder, next }
  }

  private async restoreYesterday(service: Service, folder: string): Promise<Service> {
    const { at, kind } = this
    await service.stop()
    const next = await this.start(at, ...kind.learn, '-p', '3', '--restore-from', folder)
    this.progress.get(1)!.goBackTo(this.yesterday!)
    await this.settle(next, 1, [this.published])
    await this.served(next, 'day 6')
    return next
  }

  private async move(service: Service): Promise<void> {
    const { at, kind } = this
    const before = await this.rows(service)
    await at.run('model', 'export', 'live', at.file('day-7'), '--model', kind.model)
    await service.stop()
    await this.moveByImport()
    this.losses = kind.losses(before)
    const copy = this.elsewhere('copied')
    cpSync(at.file('data'), copy.file('data'), { recursive: true })
    copy.write('golden', kind.golden)
    copy.write('base', kind.base)
    const there = await this.start(copy, ...kind.learn)
    expect(differentRows(kind, await this.rows(there), before)).toEqual([])
    await this.observe(DAY, copy)
    await this.settle(there, 1, [this.published], copy)
    await this.served(there, 'day 7, a copy of the folder', copy)
    await there.stop()
  }

  private async moveByImport(): Promise<void> {
    const { at, kind } = this
    const imported = this.elsewhere('imported')
    imported.write('golden', kind.golden)
    imported.write('base', kind.base)
    await imported.run('model', 'import', at.file('day-7'), '--model', kind.model)
    const flags = ['--model', kind.model, '--force', 'moved']
    await imported.run('model', 'promote', '1', ...flags)
    const service = await this.start(imported, ...kind.serve)
    this.losses = kind.losses(this.published)
    const rows = await this.served(service, 'day 7, imported', imported)
    // An export has the rows as they were published.
    expect(differentRows(kind, rows, this.published)).toEqual([])
    await service.stop()
  }

  /** Sends the next observations. */
  private async observe(count: number, at = this.at): Promise<void> {
    const lines = this.kind.stream.slice(this.sent, this.sent + count)
    expect(lines).toHaveLength(count)
    await at.produce(this.kind.observations, this.kind.sent(lines))
    this.sent += count
  }

  /** Waits until a version knows all observations, and checks that it knows each once. */
  private async settle(
    service: Service,
    version: number,
    rows: readonly Rows[],
    at = this.at,
  ): Promise<void> {
    const { kind } = this
    const before = await accountOf(at, kind, { version, file: this.file })
    const count = before.produced - before.trained - before.replayed
    if (count > 0) await untilLearned(at, kind, { version, count, service })
    const account = await accountOf(at, kind, { version, file: this.file })
    expect(account.produced).toBe(kind.base.length + this.sent)
    const { unknown, twice, ...counts } = account
    this.figures.push({ version, ...counts })
    // Of the live version, with all deltas that the topic has: another read does not wait for their folds.
    const now = await this.rows(service)
    const seen = this.seen.get(version) ?? []
    expect(accountProblems(kind, account, [...rows, ...seen, now])).toEqual([])
    this.seen.set(version, [...seen, now])
    if (count > 0) await this.checkLearned(service, version, now, at)
  }

  /** Checks the rows of a version, and what is reported of them, against a computation by the rule. */
  private async checkLearned(
    service: Service,
    version: number,
    now: Rows,
    at: Installation,
  ): Promise<void> {
    const progress = this.progress.get(version)!
    expect((await progress.goOn(at, now)).slice(0, 5)).toEqual([])
    const reported = (await errorOf(service, version))!
    expect(progress.check(reported, this.hasFirstSlots)).toEqual([])
    this.figures.push({ version, loss: reported.loss })
  }

  /** Checks what a service answers; returns the rows that it serves. */
  private async served(service: Service, day: string, at = this.at): Promise<Rows> {
    const { kind } = this
    expect(service.hasEnded).toBe(false)
    const rows = await this.rows(service)
    for (const face of ['client', 'command'] satisfies Face[]) {
      expect(wrongPredictions(await kind.predictions(face, { at, service, rows })), day).toEqual([])
    }
    const losses = kind.losses(rows)
    const own = mean(losses)
    this.figures.push({ day, own })
    expect(await kind.evaluated(at, service), day).toBeCloseTo(own, 4)
    // Neither against the step before, nor, in many small steps, against the training.
    for (const before of [this.losses, this.trained]) {
      if (before.length > 0) expect(riseOfLoss(before, losses), day).toBeUndefined()
    }
    this.losses = losses
    return rows
  }

  private rows(service: Service, version?: number): Promise<Rows> {
    return service.rows(this.kind, version)
  }
}
