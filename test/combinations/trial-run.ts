import { cpSync, rmSync } from 'node:fs'
import { CommandHere, inProcess, type RunCommand } from '../cli/command-here.ts'
import { until } from '../run/until.ts'
import { jsonAnswer } from '../services/json-answer.ts'
import { weir } from '../system/cli/command-process.ts'
import { accountProblems, differentRows, servedKeys, wrongPredictions } from './checks.ts'
import { exportedRows } from './exported-rows.ts'
import { Installation, type InstallationOptions } from './installation.ts'
import type { Face, Kind } from './kind.ts'
import { untilLearned } from './learned.ts'
import { accountOf, placesOf } from './ledger.ts'
import { riseOfLoss } from './plain-measures.ts'
import { importLive, kindOf, promote, publishFirst } from './publishers.ts'
import { type Rows, Service } from './service.ts'
import type { Trial } from './table.ts'

/** Observations between two checks. */
const SENT = 150
/** A version that was trained on a file does not say that the topic has the same observations. */
const LEARN_NEW = ['--learn-from', 'end']
const WRITE_BACK = ['--write-back', '3600']
/** Time between two looks at what a publication has written. */
const LOOK_EVERY_MS = 5

/** What is wrong in a trial. */
export interface Problem {
  /** `lost`: an observation is lost, or known twice. `wrong`: another row, answer or measure than there should be. */
  readonly kind: 'wrong' | 'lost'
  readonly what: string
}

/** A trial of a table, from the first version to a step of its life. */
export class TrialRun {
  private readonly trial: Trial
  private readonly kind: Kind
  private readonly problems: Problem[] = []
  private at: Installation
  private version = 1
  private file: ReadonlySet<string> = new Set()
  /** Places of the file's observations in their topic. */
  private base: ReadonlySet<string> = new Set()
  /** Whether the ranges of a version are places of the topic of observations: not on another machine. */
  private isHome = true
  private sent = 0
  private slots: number
  /** Ratings that the reported error no longer counts: it was in checkpoints that are gone. */
  private uncounted = 0
  private flags: readonly string[] = []
  private service!: Service
  /** What the step before served: rows and losses. */
  private rows: Rows = new Map()
  private losses: readonly number[] = []

  /** `place`: what its machine has besides its folder. */
  constructor(trial: Trial, folder: string, place: Omit<InstallationOptions, 'runCommand'>) {
    this.trial = trial
    this.kind = kindOf(trial)
    this.slots = Number(trial.slots)
    this.at = new Installation(folder, { runCommand: inProcess, ...place })
  }

  /** Runs it; returns what is wrong. Throws where a command or a service fails. */
  async run(): Promise<readonly Problem[]> {
    await this.begin()
    await this.observe()
    await this.check('before')
    await STEPS[this.trial.step](this)
    await this.observe()
    await this.check('after')
    await this.service.stop()
    return this.problems
  }

  /** Ends what still runs. */
  async end(): Promise<void> {
    await (this.service as Service | undefined)?.kill()
  }

  private async begin(): Promise<void> {
    const { at, kind, trial } = this
    this.writeFiles(at)
    await at.run('topic', 'create', kind.observations, '--partitions', '1')
    await at.produce(kind.observations, kind.base)
    this.base = await placesOf(at, kind.observations)
    this.file = this.base
    this.version = await publishFirst(at, kind, trial.publisher)
    this.flags = trial.step === 'write-back' ? [...LEARN_NEW, ...WRITE_BACK] : LEARN_NEW
    await this.start()
    this.rows = await this.read()
    this.losses = kind.losses(this.rows)
  }

  writeFiles(at: Installation): void {
    at.write('base', this.kind.base)
    at.write('golden', this.kind.golden)
  }

  /** Starts the job; `more` are flags of a job that learns. */
  async start(...more: string[]): Promise<void> {
    const { kind, trial, at } = this
    const isLearning = trial.job === 'learning'
    // A kind with one rule takes it by itself.
    const isChosen = trial.kind !== 'implicit' && trial.kind !== 'popularity'
    const hasRule = kind.state === 'ALS_MODEL' && isChosen
    const rule = hasRule ? ['--rule', trial.rule] : []
    const command = isLearning ? [...kind.learn, ...rule, ...this.flags, ...more] : kind.serve
    const isManaged = trial.step === 'rescale under the JobManager'
    const begin = isManaged ? Service.submit : Service.start
    this.service = await begin(at, ...command, '-p', String(this.slots))
  }

  async stop(): Promise<void> {
    await this.service.stop()
  }

  /** Starts the job again after a step that keeps each row, and checks that it did. */
  async startAgain(...more: string[]): Promise<void> {
    await this.start(...more)
    await this.checkSame()
  }

  private async checkSame(): Promise<void> {
    const different = differentRows(this.kind, await this.read(), this.rows)
    this.add(
      'wrong',
      different.map((key) => `the step changed row ${key}`),
    )
  }

  /** Lets the running job go on with the other number of slots. */
  async rescale(): Promise<void> {
    this.slots = this.slots === 1 ? 2 : 1
    await this.service.rescale(this.slots)
    await this.checkSame()
  }

  async kill(): Promise<void> {
    await this.service.kill()
  }

  /** Stops the job with `weir stop` and these flags, and goes on from its savepoint. */
  async savepoint(...flags: string[]): Promise<void> {
    const folder = await this.service.stopWithSavepoint(...flags)
    await this.startAgain('--restore-from', folder)
  }

  set parallelism(slots: number) {
    this.slots = slots
  }

  /** Publishes another version and makes it live. */
  async promote(): Promise<void> {
    const { at, kind } = this
    await kind.publish(at)
    await this.makeNewestLive()
  }

  /** Trains another version on what the topic has, beside the job, and makes it live. */
  async retrain(): Promise<void> {
    const { at, kind, service, trial } = this
    // Rows that no trainer is known of have no biases; those of this one have: the job gets rows of another layout.
    const isUnknown = trial.kind === 'text' || trial.kind === 'generated'
    const trainer = isUnknown ? ['--trainer', 'bmf'] : []
    const flags = ['--model', kind.model, '--observations', kind.observations, ...trainer]
    await at.run('retrain', '--once', ...flags, ...service.toAsk)
    await this.makeNewestLive()
  }

  private async makeNewestLive(): Promise<void> {
    const { at, kind } = this
    // One that was trained on the file learns all that came after it; another one learns on where the job is.
    const shown = await at.run('model', 'show', 'latest', '--model', kind.model, '--json')
    const { number, lineage } = JSON.parse(shown) as {
      readonly number: number
      readonly lineage: { readonly files: unknown[] }
    }
    const { files } = lineage
    const known = files.length > 0 ? this.base : await placesOf(at, kind.observations)
    await promote(at, kind, number)
    await this.goLive(number)
    this.file = known
    this.rows = await this.read()
    this.losses = kind.losses(this.rows)
  }

  /** Kills a publication at some time after its first row, and publishes and promotes another version. */
  async killPublication(): Promise<void> {
    const { at, kind } = this
    const rows = async (): Promise<number> => (await at.records(kind.model)).length
    const before = await rows()
    const runCommand = killedWhen(async () => (await rows()) > before)
    await kind.publish(at.running(runCommand))
    const different = differentRows(kind, await this.read(), this.rows)
    this.add(
      'wrong',
      different.map((key) => `what a killed publication left changed row ${key}`),
    )
    await this.promote()
  }

  /** Goes back to the version before. */
  async rollBack(): Promise<void> {
    const { at, kind } = this
    const before = { file: this.file, rows: this.rows, losses: this.losses, version: this.version }
    await this.promote()
    await this.observe()
    await this.check('on the other version')
    await at.run('model', 'rollback', '--model', kind.model)
    await this.goLive(before.version, 2)
    Object.assign(this, before)
    await this.check('rolled back')
  }

  private async goLive(version: number, times = 1): Promise<void> {
    this.version = version
    if (this.trial.job === 'learning') await this.service.learnsOn(version, times)
    else await this.service.serves(version, times)
  }

  /** Goes on with the live version on another machine, whose topics have other records. */
  async importElsewhere(): Promise<void> {
    const { kind, at } = this
    const there = at.another('elsewhere')
    await this.stop()
    this.writeFiles(there)
    this.version = await importLive(kind, at, there)
    await at.run('model', 'export', 'live', at.file('exported'), '--model', kind.model)
    this.rows = servedKeys(kind, exportedRows(at.file('exported')))
    this.losses = []
    this.at = there
    this.sent = 0
    this.file = new Set()
    this.isHome = false
    await there.run('topic', 'create', kind.observations, '--partitions', '1')
    await this.startAgain()
    this.losses = kind.losses(await this.read())
  }

  /** Goes on with a copy of the folder. */
  async copy(): Promise<void> {
    await this.stop()
    const there = this.at.copy('copy')
    this.writeFiles(there)
    cpSync(this.at.file('data'), there.file('data'), { recursive: true })
    this.at = there
    await this.startAgain()
  }

  /** Ends the job, which writes its rows back, and starts one without its checkpoints. */
  async writeBack(): Promise<void> {
    const { at, kind } = this
    await this.stop()
    await at.run('model', 'export', 'live', at.file('written'), '--model', kind.model)
    const exported = servedKeys(kind, exportedRows(at.file('written')))
    const different = differentRows(kind, exported, this.rows)
    this.add(
      'wrong',
      different.map((key) => `row ${key} is not written back`),
    )
    rmSync(at.file('data/checkpoints'), { recursive: true })
    this.uncounted = this.sent
    await this.startAgain()
  }

  private async observe(): Promise<void> {
    const { kind, at, trial } = this
    if (trial.job !== 'learning') return
    const sent = kind.sent(kind.stream.slice(this.sent, this.sent + SENT))
    await at.produce(kind.observations, sent)
    this.sent += SENT
  }

  /** The four numbers of a step, and the answers. */
  private async check(when: string): Promise<void> {
    const { kind } = this
    const before = this.rows
    if (this.trial.job === 'learning') await this.checkAccount(when, before)
    this.rows = await this.read()
    if (this.trial.job === 'serving') {
      const different = differentRows(kind, this.rows, before)
      this.add(
        'wrong',
        different.map((key) => `${when}: row ${key} has changed`),
      )
    }
    this.add(
      'wrong',
      wrongPredictions(await this.predictions()).map((one) => `${when}: ${one}`),
    )
    const losses = kind.losses(this.rows)
    const loss = riseOfLoss(this.losses, losses)
    if (loss !== undefined) this.add('wrong', [`${when}: ${loss}`])
    this.losses = losses
  }

  private async checkAccount(when: string, before: Rows): Promise<void> {
    const { at, kind, version, service, file, isHome, uncounted } = this
    const facts = { version, file, isHome }
    const first = await accountOf(at, kind, facts)
    const count = first.produced - first.trained - first.replayed
    try {
      await untilLearned(at, kind, { version, count, service, uncounted })
    } catch (error) {
      this.add('lost', [`${when}: ${String(error)}`])
    }
    const account = await accountOf(at, kind, facts)
    const problems = accountProblems(kind, account, [before, await this.read()])
    this.add(
      'lost',
      problems.slice(0, 3).map((one) => `${when}: ${one} (of ${problems.length})`),
    )
  }

  private async predictions(): ReturnType<Kind['predictions']> {
    const { at, kind, service, rows } = this
    const face: Face = this.trial.face
    if (face !== 'gateway') return await kind.predictions(face, { at, service, rows })
    const { encryption } = at
    const ports = [...service.toAsk, ...(encryption?.ofServer ?? [])]
    await using process = new CommandHere([
      'gateway',
      '--listen',
      '127.0.0.1:0',
      '--json',
      ...ports,
    ])
    const { url } = JSON.parse(await process.firstLine()) as { url: string }
    const tls = encryption?.ofClient
    const gateway = (path: string, body?: object) => jsonAnswer(`${url}${path}`, { body, tls })
    return await kind.predictions(face, { at, service, rows, gateway })
  }

  private read(): Promise<Rows> {
    return this.service.rows(this.kind)
  }

  private add(kind: Problem['kind'], found: readonly string[]): void {
    const more = found.length > 3 ? [`... and ${found.length - 3} more`] : []
    this.problems.push(...[...found.slice(0, 3), ...more].map((what) => ({ kind, what })))
  }
}

/** The steps in the life of a model. */
const STEPS: Readonly<Record<Trial['step'], (run: TrialRun) => Promise<void>>> = {
  async 'stop and start'(run) {
    await run.stop()
    await run.startAgain()
  },
  async kill(run) {
    await run.kill()
    await run.start()
  },
  savepoint: (run) => run.savepoint(),
  async 'fewer slots'(run) {
    await run.stop()
    run.parallelism = 1
    await run.startAgain()
  },
  async 'more slots'(run) {
    await run.stop()
    run.parallelism = 2
    await run.startAgain()
  },
  promotion: (run) => run.promote(),
  retraining: (run) => run.retrain(),
  rollback: (run) => run.rollBack(),
  'import elsewhere': (run) => run.importElsewhere(),
  'copy of the folder': (run) => run.copy(),
  'write-back': (run) => run.writeBack(),
  drain: (run) => run.savepoint('--drain'),
  'killed publication': (run) => run.killPublication(),
  'rescale under the JobManager': (run) => run.rescale(),
}

/** Runs commands as processes, and kills one as soon as something holds. */
function killedWhen(holds: () => Promise<boolean>): RunCommand {
  return async (args, input = '') => {
    await using command = weir(args).input(input)
    let isKilled = false
    const isOver = async (): Promise<boolean> => {
      isKilled = !command.hasEnded && (await holds())
      return isKilled || command.hasEnded
    }
    await until('the command has ended or can be killed', isOver, { everyMs: LOOK_EVERY_MS })
    return isKilled ? { code: 0, signal: null, stdout: '', stderr: '' } : await command.ended
  }
}
