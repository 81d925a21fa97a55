import type { Random } from '../../../src/core/random.ts'
import { pause } from '../../run/pause.ts'
import { until } from '../../run/until.ts'
import { Child } from '../child.ts'
import type { AttackerCommand, AttackerFigures } from './attacker-process.ts'
import { ADDRESSES, type Origin } from './door.ts'
import { type GoodClient, goodHttpClient } from './good-requests.ts'
import { attacksOf } from './kinds/all.ts'
import type { DoorAttack } from './kinds/attack.ts'
import { residentBytes } from './resident.ts'
import type { Turn, Turns } from './turns.ts'
import {
  type DoorMeasured,
  type Judgement,
  judge,
  LEAST_FULL_MS,
  mostKeptBytes,
} from './verdict.ts'
import { type Measurement, measure, type Span } from './waits.ts'
import { type DoorWorld, doorName, type OpenDoor, type Server } from './world.ts'

/** Time of a measurement where the machine has time for enough requests, ms, and where it has not. */
const SHORT: Span = { leastMs: 2_000, mostMs: 8_000 }
/** Longest time beside an attack that holds connections: longer than a request may live, ms. */
const HOLDING_MS = 16_000
/** Time that an attack has to take effect before it is measured. */
const LEAD_MS = 300
/** Cases of a door that have the same figures without an attack. */
const CASES_OF_SOLO = 5
const PEAK_EVERY_MS = 100
/** Time between two looks at how far the attackers are. */
const LOOK_EVERY_MS = 250
const ORIGINS = Object.keys(ADDRESSES) as Origin[]

/** One attack on one door. */
export interface DoorCase {
  readonly server: Server
  readonly isTls: boolean
  readonly attack: string
}

/** Figures of one case, and what they say. */
export interface DoorFigures extends Judgement {
  readonly door: string
  readonly attack: string
  readonly origin: Origin
  readonly measured: DoorMeasured
}

/** What the lanes of a campaign share, and its rules. */
export interface LaneSettings {
  readonly world: DoorWorld
  readonly turns: Turns
  readonly witnessPort: number
  readonly random: Random
  /** How often a case runs again, alone, when a time is too long or it is not judged; the last time counts. */
  readonly retries: number
  /** As `judge`. */
  readonly noiseMs: number
  /** Time in which memory must be given back, ms. */
  readonly givenBackMs: number
}

/** A door whose code is compiled and whose heap has its usual size. */
interface WarmDoor {
  readonly open: OpenDoor
  /** Its memory before the first attack. */
  readonly bytes: number
  /** Without an attack: at first, and of late. */
  solos: readonly Measurement[]
  casesOfSolo: number
}

/**
 * Runs cases one after the other, with attackers and clients of its own. Attacks that hold connections run beside those of
 * other lanes: that is harder for the servers, and what is late then runs again alone.
 */
export class DoorLane implements AsyncDisposable {
  private readonly settings: LaneSettings
  private readonly attackers = new Child(new URL('attacker-process.ts', import.meta.url), [], {
    isApart: true,
  })
  private readonly witness: GoodClient
  private readonly doors = new Map<string, WarmDoor>()

  constructor(settings: LaneSettings) {
    this.settings = settings
    this.witness = goodHttpClient({ port: settings.witnessPort, path: '/', answer: '200 {}' })
  }

  /** Runs a case, again where the machine may be the cause of what it shows. */
  async run(one: DoorCase): Promise<DoorFigures> {
    const door = await this.warmDoor(one)
    const { isHolding } = attacksOf(door.open.door.protocol)[one.attack]!
    let turn: Turn = isHolding ? 'shared' : 'alone'
    for (let { retries } = this.settings; ; retries--) {
      const figures = await this.attack(one, door, turn)
      const isCertain =
        figures.harms.length > 0 || figures.late.length + figures.unjudged.length === 0
      if (isCertain || retries <= 0) return figures
      turn = 'alone'
    }
  }

  private async warmDoor(one: DoorCase): Promise<WarmDoor> {
    const name = doorName(one.server, one.isTls)
    const door = this.doors.get(name) ?? (await this.alone(() => this.warmUp(one)))
    this.doors.set(name, door)
    return door
  }

  private async warmUp({ server, isTls }: DoorCase): Promise<WarmDoor> {
    const open = await this.settings.world.open(server, isTls)
    await until('the server answers', () =>
      open.good.ask().then(
        () => true,
        () => false,
      ),
    )
    await this.measure(open)
    const bytes = residentBytes(open.pid)
    for (const attack of ['big bodies', 'new connections', 'mutated requests']) {
      await this.begin(open, attack, 'another address')
      await pause(LEAD_MS, 'an attack warms the server up')
      await this.command({ kind: 'end' })
    }
    return { open, bytes, solos: [], casesOfSolo: 0 }
  }

  /** Figures of a door without an attack, the better ones of its first and its last: attacks may not make them worse. */
  private async soloOf(door: WarmDoor): Promise<Measurement> {
    if (door.casesOfSolo++ % CASES_OF_SOLO === 0) {
      const latest = await this.alone(() => this.measure(door.open))
      door.solos = [door.solos[0] ?? latest, latest]
    }
    const [first, latest] = door.solos as [Measurement, Measurement]
    return first.good.p99Ms < latest.good.p99Ms ? first : latest
  }

  private async attack(one: DoorCase, door: WarmDoor, turn: Turn): Promise<DoorFigures> {
    const { isTls, attack } = one
    const { turns, random, noiseMs } = this.settings
    const solo = await this.soloOf(door)
    const origin = ORIGINS[random.below(ORIGINS.length)]!
    const seen = await turns.take(turn, () => this.watch(door, attack, origin))
    const keptBytes = await this.keptBytes(door, mostKeptBytes(one))
    const measured: DoorMeasured = { ...seen, solo, isTls, keptBytes }
    return { door: door.open.door.name, attack, origin, measured, ...judge(measured, noiseMs) }
  }

  /** What happens to a door while it is attacked. */
  private async watch({ open, bytes }: WarmDoor, attack: string, origin: Origin) {
    const kind = attacksOf(open.door.protocol)[attack]!
    await this.begin(open, attack, origin)
    await pause(LEAD_MS, 'a load is in full swing before it is measured')
    let peakBytes = 0
    const look = setInterval(() => {
      peakBytes = Math.max(peakBytes, residentBytes(open.pid) - bytes)
    }, PEAK_EVERY_MS)
    await open.loop()
    const measurement = await this.measureUntilOver(open, kind)
    const loop = await open.loop()
    clearInterval(look)
    const { longestMs, fullMs, lateMs } = await this.command<AttackerFigures>({ kind: 'end' })
    return {
      attack: measurement,
      ...loop,
      ...{ peakBytes, fullMs, attackersLateMs: lateMs },
      longestMs: kind.isHolding ? longestMs : undefined,
    }
  }

  /**
   * Measures a door until the attack ran for a while. One that holds connections is over when the first ones have ended, all that
   * it had at a time: no other would live longer.
   */
  private async measureUntilOver(open: OpenDoor, { isHolding }: DoorAttack): Promise<Measurement> {
    let isOver = false
    let isStopped = false
    const seen = until(
      'the attack ran for a while',
      async () => {
        const { fullMs, isFirstOver } = await this.command<AttackerFigures>({ kind: 'figures' })
        isOver ||= fullMs >= LEAST_FULL_MS && (isFirstOver || !isHolding)
        return isOver || isStopped
      },
      { everyMs: LOOK_EVERY_MS },
    )
    const mostMs = isHolding ? HOLDING_MS : SHORT.mostMs
    const measurement = await this.measure(open, { ...SHORT, mostMs, isOver: () => isOver })
    isStopped = true
    await seen
    return measurement
  }

  private measure({ good }: OpenDoor, span = SHORT): Promise<Measurement> {
    return measure(good.ask, this.witness.ask, span)
  }

  /** Memory above the start when it is back, or after the time that it has for that. */
  private async keptBytes({ open, bytes }: WarmDoor, most: number): Promise<number> {
    const endMs = performance.now() + this.settings.givenBackMs
    for (;;) {
      const kept = residentBytes(open.pid) - bytes
      if (kept <= most || performance.now() > endMs) return kept
      await pause(250, 'memory comes back over time')
    }
  }

  private alone<T>(work: () => Promise<T>): Promise<T> {
    return this.settings.turns.take('alone', work)
  }

  private begin({ door }: OpenDoor, attack: string, origin: Origin): Promise<object> {
    const seed = this.settings.random.below(2 ** 31)
    return this.command({ kind: 'attack', door, attack, origin, seed })
  }

  private command<T extends object>(command: AttackerCommand): Promise<T> {
    return this.attackers.ask<T>(command)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.attackers[Symbol.asyncDispose]()
    for (const { open } of this.doors.values()) await open.good.close()
    await this.witness.close()
  }
}
