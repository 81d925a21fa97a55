import { describe, expect, it } from 'vitest'
import {
  addressOfWays,
  peerAddress,
  restUrlOf,
  restWay,
  socketPathOf,
} from '../../../../src/cluster/scale-out/peers/peer-address.ts'

const URL = 'http://127.0.0.1:8081'

describe('the address of a process', () => {
  it('has each way by which others reach it, and those that a reader does not know count for nothing', () => {
    const address = addressOfWays('quic:later', peerAddress('/run/one'), restWay(URL, false))
    expect(socketPathOf(address)).toBe('/run/one')
    expect(restUrlOf(address)).toEqual({ url: URL, isReachable: true })
    expect(restUrlOf(peerAddress('/run/one'))).toBeUndefined()
    expect(addressOfWays(undefined, undefined)).toBe('')
  })

  it('on loopback is reached on the same machine only', () => {
    expect(restUrlOf(restWay(URL, true))).toEqual({ url: URL, isReachable: true })
    expect(restUrlOf(`rest:another-machine:${URL}`)).toEqual({ url: URL, isReachable: false })
    expect(socketPathOf('unix:another-machine:/run/one')).toBeUndefined()
  })

  it('leaves a way out that would hide another one', () => {
    const address = addressOfWays(peerAddress('/run/a|rest::http://x'), restWay(URL, true))
    expect(socketPathOf(address)).toBeUndefined()
    expect(restUrlOf(address)).toMatchObject({ url: URL })
  })
})
