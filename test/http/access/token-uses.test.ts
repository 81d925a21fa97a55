import { describe, expect, it } from 'vitest'
import { AccessControl, shareAccess } from '../../../src/http/access/control.ts'
import { TokenUses, usesMemory } from '../../../src/http/access/token-uses.ts'
import { ManualClock } from '../../../src/testing/manual-clock.ts'
import { tokenOf } from './tokens.ts'

describe('TokenUses', () => {
  it('remembers the last use of each token to the second, and where it came from', () => {
    const uses = new TokenUses(usesMemory(3))
    expect(uses.read()).toEqual([])
    uses.note(2, 5_400, { remoteAddress: '10.0.0.7' })
    uses.note(0, 7_000, { remoteAddress: '2001:db8:1111:2222:3333:4444:5555:6666%enp0s31f6' })
    uses.note(2, 9_999, { remoteAddress: '::1' })
    expect(uses.read()).toEqual([
      { index: 0, lastMs: 7_000, address: '2001:db8:1111:2222:3333:4444:5555:6666%enp0s31f6' },
      { index: 2, lastMs: 9_000, address: '::1' },
    ])
  })

  it('cuts an address that is too long, and ignores a token without a record', () => {
    const uses = new TokenUses(usesMemory(1))
    uses.note(-1, 1_000, { remoteAddress: 'x' })
    uses.note(1, 1_000, { remoteAddress: 'x' })
    uses.note(0, 1_000, { remoteAddress: 'ä'.repeat(100) })
    expect(uses.read()).toMatchObject([{ index: 0, lastMs: 1_000 }])
    expect(uses.read()[0]!.address.length).toBeLessThan(60)
  })

  it('is shared by the threads of a port', () => {
    const one = tokenOf(1)
    const share = shareAccess([one.record])
    const clock = new ManualClock(20_000)
    new AccessControl(share, clock).authorize(one.text, 'read', {
      from: { remoteAddress: '10.1.1.1' },
    })
    expect(new TokenUses(share.uses).read()).toEqual([
      { index: 0, lastMs: 20_000, address: '10.1.1.1' },
    ])
  })

  it('notes no token that is refused as wrong, and one whose role is too weak', () => {
    const one = tokenOf(1)
    const share = shareAccess([one.record])
    const access = new AccessControl(share, new ManualClock(20_000))
    access.authorize(`${one.text.slice(0, -1)}?`, 'read')
    expect(new TokenUses(share.uses).read()).toEqual([])
    access.authorize(one.text, 'admin')
    expect(new TokenUses(share.uses).read()).toHaveLength(1)
  })
})
