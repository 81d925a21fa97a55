import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/core/clock.ts'
import { LoopClaim } from '../../../src/jobs/retrain/loop-claim.ts'
import { RENEW_LEASE_MS } from '../../../src/models/registry/retraining-lease.ts'
import { ModelRegistry } from '../../../src/models/versions/model-registry.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { registeredVersion } from '../../models/registry/registered-version.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-loops-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const registry = (): ModelRegistry =>
  new ModelRegistry({ place: { logDirectory: join(folder, 'registry') }, clock: systemClock })

function takeIn(
  data: string,
  options: { readonly isTakeOver?: boolean; readonly clock?: ManualClock } = {},
): Promise<LoopClaim> {
  return LoopClaim.take({
    folder: join(folder, data),
    model: 'als-model',
    isTakeOver: options.isTakeOver ?? false,
    clock: options.clock ?? new ManualClock(1_000_000),
    registry: registry(),
    onWarning: () => {},
  })
}

const leaseOf = async () => (await registry().read()).models.get('als-model')?.retraining

describe('retraining loops of two folders on one cluster', () => {
  it('do not retrain one model at once: the second is refused with the first, until that one has ended', async () => {
    await registry().require({ kind: 'register', version: registeredVersion(1) })
    const first = await takeIn('a')
    await expect(takeIn('b')).rejects.toMatchObject({
      code: 'JOB_ALREADY_RUNNING',
      message: expect.stringMatching(
        new RegExp(
          `als-model is retrained already, by the loop of process .*${process.pid}-.* since 1970`,
        ),
      ),
    })
    await first.requireHeld()
    await first[Symbol.asyncDispose]()
    expect(await leaseOf()).toBeUndefined()
    const second = await takeIn('b')
    await second[Symbol.asyncDispose]()
  })

  it('end when another one takes the model over', async () => {
    await registry().require({ kind: 'register', version: registeredVersion(1) })
    const clock = new ManualClock(1_000_000)
    const first = await takeIn('a', { clock })
    const second = await takeIn('b', { isTakeOver: true })
    clock.advance(RENEW_LEASE_MS)
    await expect(first.requireHeld()).rejects.toMatchObject({ code: 'COORDINATOR_FENCED' })
    await first[Symbol.asyncDispose]()
    expect(await leaseOf()).toBeDefined()
    await second.requireHeld()
    await second[Symbol.asyncDispose]()
  })

  it('renew their lease, and lease a model once it is registered', async () => {
    const clock = new ManualClock(1_000_000)
    const loop = await takeIn('a', { clock })
    expect(await leaseOf()).toBeUndefined()
    await registry().require({ kind: 'register', version: registeredVersion(1) })
    clock.advance(RENEW_LEASE_MS)
    await loop.requireHeld()
    expect(await leaseOf()).toMatchObject({ sinceMs: 1_000_000, atMs: 1_000_000 + RENEW_LEASE_MS })
    clock.advance(RENEW_LEASE_MS)
    await loop.requireHeld()
    expect(await leaseOf()).toMatchObject({ atMs: 1_000_000 + 2 * RENEW_LEASE_MS })
    await loop[Symbol.asyncDispose]()
  })
})
