import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WeirClient } from '../../src/client/index.ts'
import { pause } from '../run/pause.ts'
import type { AttackerCommand } from './attacker-process.ts'
import { ATTACKS } from './attackers.ts'
import { Child } from './child.ts'
import { GoodClient, type Latencies } from './good-client.ts'
import type { ServerFigures } from './server-process.ts'
import {
  isClear,
  KEPT_BYTES,
  lowerMedianOf,
  type Measured,
  medianOf,
  mostMs,
  type P99,
  problemsOf,
} from './verdict.ts'

const KEYS = 5_000
const CHECKPOINT_MS = 250
/** Time that an attack has to take effect before it is measured. */
const LEAD_MS = 300
/** Time in which the server may clean up after an attack. */
const REST_MS = 500
/** Options of the campaign. */
export interface HostileCampaignOptions {
  readonly seed: number
  /** How often each attack runs, at most. */
  readonly rounds: number
  /** Rounds after which an attack ends whose figures are far below their limits. @default all */
  readonly leastRounds?: number
  /** Length of each measurement in ms. */
  readonly attackMs: number
  /** A p99 below this, in ms, is never too late: other processes of the machine make as much. */
  readonly noiseMs: number
  /** How often an attack with a problem is measured again; the last time counts. @default 0 */
  readonly retries?: number
  /** Whether each attack is also measured on another server. @default false */
  readonly elsewhere?: boolean
  /** Only these attacks. @default all */
  readonly attacks?: readonly string[]
  /** Called with the figures of an attack when it has ended. */
  readonly onAttack?: (figures: AttackFigures) => void
}

/** Figures of the good client and of the server for one attack. */
export interface AttackFigures extends Measured {
  readonly attack: string
  readonly verdict: 'passed' | 'failed'
  readonly problems: readonly string[]
  /** How often it ran. */
  readonly rounds: number
  /** Requests behind the p99 of a round, at least. */
  readonly samples: number
  /** Processors that the attack takes, of the attackers and of the server. */
  readonly cores: { readonly attackers: number; readonly server: number }
  /** Bytes of memory above the start at the end of a round. */
  readonly peakBytes: number
}

/** Result of the campaign. */
export interface HostileCampaignReport {
  readonly campaign: 'hostile'
  readonly seed: number
  readonly cases: number
  readonly attacks: readonly AttackFigures[]
  readonly violations: readonly string[]
}

/**
 * Runs attacks of hostile clients on a job with two slots and one query thread, beside a good client and
 * checkpoints. Server, attackers and good client are processes. A violation is an answer of the good client
 * that fails or comes too late (`problemsOf`), a checkpoint that fails or is late, or memory that does not
 * come back.
 */
export async function runHostileCampaign(
  options: HostileCampaignOptions,
): Promise<HostileCampaignReport> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-hostile-'))
  try {
    await using campaign = await HostileCampaign.start(folder, options)
    return await campaign.run()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A server in a process, a client of it, and the port of its query thread. */
interface ServedChild {
  readonly server: Child
  readonly good: GoodClient
  readonly port: number
}

async function serve(folder: string, { seed }: HostileCampaignOptions): Promise<ServedChild> {
  const args = [seed, folder, CHECKPOINT_MS, KEYS].map(String)
  const server = new Child(new URL('server-process.ts', import.meta.url), args)
  try {
    const { port } = await server.ask<ServerFigures>('figures')
    const good = new GoodClient(await WeirClient.connect({ port }), KEYS)
    await good.ready()
    const { threadPort } = await server.ask<ServerFigures>('figures')
    return { server, good, port: threadPort }
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
}

async function end({ server, good }: Omit<ServedChild, 'port'>): Promise<void> {
  server.resume()
  await good.close()
  await server[Symbol.asyncDispose]()
}

/** One round of an attack. */
interface Round {
  /** Before the attack and after it. */
  readonly solo: readonly Latencies[]
  readonly attack: Latencies
  readonly control: Latencies
  readonly elsewhere: Latencies | undefined
  readonly attackerCores: number
  readonly serverCores: number
  readonly peakBytes: number
  readonly completedCheckpoints: number
  /** In the same time without the attack, at most those that are due: a slow machine completes fewer. */
  readonly soloCheckpoints: number
}

/** The processes of a campaign. */
class HostileCampaign implements AsyncDisposable {
  private readonly options: HostileCampaignOptions
  readonly server: Child
  private readonly attackers = new Child(new URL('attacker-process.ts', import.meta.url))
  readonly good: GoodClient
  private readonly port: number
  /** Another server, which stands still except while it is attacked. */
  private readonly other: ServedChild | undefined

  private constructor(
    options: HostileCampaignOptions,
    { server, good, port }: ServedChild,
    other: ServedChild | undefined,
  ) {
    this.options = options
    this.server = server
    this.good = good
    this.port = port
    this.other = other
  }

  static async start(folder: string, options: HostileCampaignOptions): Promise<HostileCampaign> {
    const served = await serve(join(folder, 'server'), options)
    try {
      const other =
        options.elsewhere === true ? await serve(join(folder, 'other'), options) : undefined
      other?.server.stop()
      return new HostileCampaign(options, served, other)
    } catch (error) {
      await end(served)
      throw error
    }
  }

  async run(): Promise<HostileCampaignReport> {
    const names = this.options.attacks ?? Object.keys(ATTACKS)
    await this.warmUp()
    const attacks: AttackFigures[] = []
    for (const name of names) {
      const figures = await this.attack(name)
      attacks.push(figures)
      this.options.onAttack?.(figures)
    }
    const violations = attacks.flatMap(({ attack, problems }) => {
      return problems.map((problem) => `${attack}: ${problem}`)
    })
    const { seed } = this.options
    const cases = attacks.reduce((sum, { rounds }) => sum + rounds, 0)
    return { campaign: 'hostile', seed, cases, attacks, violations }
  }

  /** Runs the first attacks unmeasured: code is compiled and heaps grow to their usual size. */
  private async warmUp(): Promise<void> {
    await this.good.measure(1_000)
    for (const attack of Object.keys(ATTACKS).slice(0, 3)) {
      await this.begin(attack)
      await pause(1_000, 'an attack warms the server up')
      await this.command({ kind: 'end' })
    }
    await pause(REST_MS, 'the server comes to rest after an attack')
  }

  /** Measures an attack, again while it has a problem and may be retried. */
  private async attack(name: string): Promise<AttackFigures> {
    for (let retries = this.options.retries ?? 0; ; retries--) {
      const figures = await this.measure(name)
      if (figures.verdict === 'passed' || retries <= 0) return figures
    }
  }

  /** Runs every round of an attack. */
  private async measure(name: string): Promise<AttackFigures> {
    const { rssBytes } = await this.figures()
    const rounds: Round[] = []
    while (this.needsMore(rounds)) rounds.push(await this.round(name, rssBytes))
    const measured: Measured = {
      ...this.p99sOf(rounds),
      checkpoints: {
        completed: rounds.reduce((sum, round) => sum + round.completedCheckpoints, 0),
        due: rounds.reduce((sum, round) => sum + round.soloCheckpoints, 0),
      },
      keptBytes: await this.keptBytes(rssBytes),
    }
    const errors = this.good.takeErrors().map((error) => `the good client got ${error}`)
    const problems = [...problemsOf(measured), ...errors]
    return {
      attack: name,
      verdict: problems.length === 0 ? 'passed' : 'failed',
      problems,
      ...measured,
      rounds: rounds.length,
      samples: Math.min(...rounds.map(({ attack }) => attack.samples)),
      cores: {
        attackers: medianOf(rounds.map((round) => round.attackerCores)),
        server: medianOf(rounds.map((round) => round.serverCores)),
      },
      peakBytes: Math.max(...rounds.map((round) => round.peakBytes)),
    }
  }

  private needsMore(rounds: readonly Round[]): boolean {
    const { rounds: most, leastRounds = most } = this.options
    if (rounds.length < leastRounds) return true
    return rounds.length < most && !Object.values(this.p99sOf(rounds)).every(isClear)
  }

  private p99sOf(rounds: readonly Round[]): Pick<Measured, 'prediction' | 'value'> {
    return { prediction: this.p99Of(rounds, 'prediction'), value: this.p99Of(rounds, 'value') }
  }

  private p99Of(rounds: readonly Round[], of: 'prediction' | 'value'): P99 {
    const soloMs = lowerMedianOf(rounds.flatMap(({ solo }) => solo.map((one) => one[of])))
    const controlMs = medianOf(rounds.map(({ control }) => control[of]))
    const attackMs = medianOf(rounds.map(({ attack }) => attack[of]))
    const elsewhere = rounds.flatMap((round) => round.elsewhere?.[of] ?? [])
    return {
      soloMs,
      controlMs,
      attackMs,
      elsewhereMs: elsewhere.length === 0 ? undefined : medianOf(elsewhere),
      mostMs: mostMs({ soloMs, controlMs }, this.options.noiseMs),
    }
  }

  private async round(name: string, rssBefore: number): Promise<Round> {
    const { good } = this
    const { attackMs } = this.options
    const soloFrom = await this.figures()
    const soloStart = performance.now()
    const before = await good.measure(attackMs)
    const soloTo = await this.figures()
    const idleCores = coresOf(soloFrom.cpuMs, soloTo.cpuMs, soloStart)

    await this.begin(name)
    await pause(LEAD_MS, 'a load is in full swing before it is measured')
    const from = await this.figures()
    const attackersFrom = await this.command({ kind: 'cpu' })
    const start = performance.now()
    const attack = await good.measure(attackMs)
    const attackerCores = coresOf(attackersFrom, await this.command({ kind: 'cpu' }), start)
    const to = await this.figures()
    const serverCores = Math.max(0, coresOf(from.cpuMs, to.cpuMs, start) - idleCores)
    await this.command({ kind: 'end' })

    await pause(REST_MS, 'the server comes to rest after an attack')
    const solo = [before, await good.measure(attackMs)]
    await this.command({ kind: 'spin', cores: attackerCores + serverCores })
    await pause(LEAD_MS, 'a load is in full swing before it is measured')
    const control = await good.measure(attackMs)
    await this.command({ kind: 'end' })
    const elsewhere = await this.measureElsewhere(name)
    const peakBytes = Math.max(0, to.rssBytes - rssBefore)
    const completedCheckpoints = to.completedCheckpoints - from.completedCheckpoints
    const checkpoints = {
      completedCheckpoints,
      soloCheckpoints: Math.min(
        Math.floor(attackMs / CHECKPOINT_MS),
        soloTo.completedCheckpoints - soloFrom.completedCheckpoints,
      ),
    }
    const cores = { attackerCores, serverCores }
    return { solo, attack, control, elsewhere, ...cores, peakBytes, ...checkpoints }
  }

  /** Measures beside the same attack on the other server. */
  private async measureElsewhere(attack: string): Promise<Latencies | undefined> {
    const { other } = this
    if (other === undefined) return undefined
    other.server.resume()
    await this.begin(attack, other.port)
    await pause(LEAD_MS, 'a load is in full swing before it is measured')
    const elsewhere = await this.good.measure(this.options.attackMs)
    await this.command({ kind: 'end' })
    other.server.stop()
    return elsewhere
  }

  private async begin(attack: string, port: number = this.port): Promise<void> {
    await this.command({ kind: 'attack', attack, target: { port, keys: KEYS } })
  }

  /** Returns the attackers' processor time in ms. */
  private command(command: AttackerCommand): Promise<number> {
    return this.attackers.ask<number>(command)
  }

  private figures(): Promise<ServerFigures> {
    return this.server.ask<ServerFigures>('figures')
  }

  /** Waits until memory is back, at most ten seconds. */
  private async keptBytes(rssBefore: number): Promise<number> {
    const end = performance.now() + 10_000
    for (;;) {
      const kept = (await this.figures()).rssBytes - rssBefore
      if (kept <= KEPT_BYTES / 2 || performance.now() > end) return kept
      await pause(250, 'memory comes back over time')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.attackers[Symbol.asyncDispose]()
    await end(this)
    if (this.other !== undefined) await end(this.other)
  }
}

function coresOf(fromCpuMs: number, toCpuMs: number, start: number): number {
  return (toCpuMs - fromCpuMs) / (performance.now() - start)
}
