import { describe, expect, it } from 'vitest'
import { decideRetry, errorOfFailure, refusalOf } from '../../../src/files/webhdfs/failure.ts'

const encoder = new TextEncoder()
const peer = '10.0.0.1:9870'

function remote(status: number, exception: string, message: string) {
  const body = JSON.stringify({ RemoteException: { exception, message } })
  return refusalOf('name-node', { peer, status, body: encoder.encode(body) })
}

describe('a failure of HDFS', () => {
  it.each([
    [
      403,
      'StandbyException',
      'Operation category WRITE is not supported in state standby',
      'ask-other',
    ],
    [403, 'RetriableException', 'NameNode still not started', 'ask-again'],
    [403, 'SafeModeException', 'Cannot create file. Name node is in safe mode.', 'ask-again'],
    [403, 'IOException', 'Failed to find datanode, suggest to check cluster health.', 'ask-again'],
    [
      403,
      'IOException',
      'File /x could only be written to 0 of the 1 minReplication nodes.',
      'ask-again',
    ],
    [403, 'IOException', 'Offset=20 out of the range [0, 10); OPEN, path=/a', 'give-up'],
    [404, 'FileNotFoundException', 'File /none does not exist.', 'give-up'],
    [403, 'AccessControlException', 'Permission denied: user=nobody', 'give-up'],
    [403, 'DSQuotaExceededException', 'The DiskSpace quota of /weir is exceeded', 'give-up'],
    [401, '', 'Authentication required', 'give-up'],
    [503, '', 'Service Unavailable', 'ask-again'],
  ] as const)('%i %s "%s": %#', (status, exception, message, decision) => {
    const failure =
      exception === ''
        ? refusalOf('name-node', { peer, status, body: encoder.encode(message) })
        : remote(status, exception, message)
    expect(decideRetry(failure)).toBe(decision)
  })

  it('leads to the other NameNode when one is silent, and to a repetition when a DataNode is', () => {
    const silent = { kind: 'no-answer', sent: true, reason: 'x', peer, address: undefined } as const
    expect(decideRetry({ ...silent, party: 'name-node' })).toBe('ask-other')
    expect(decideRetry({ ...silent, party: 'data-node' })).toBe('ask-again')
  })

  it('leads to a repetition when an earlier attempt has taken over the lease', () => {
    const message =
      'File does not exist: /t/.tmp/a (inode 16394) Holder DFSClient_1 does not have any open files.'
    const body = JSON.stringify({
      RemoteException: { exception: 'FileNotFoundException', message },
    })
    const bytes = encoder.encode(body)
    expect(decideRetry(refusalOf('data-node', { peer, status: 404, body: bytes }))).toBe(
      'ask-again',
    )
    expect(decideRetry(refusalOf('name-node', { peer, status: 404, body: bytes }))).toBe('give-up')
  })

  it('keeps the first line of a Java stack', () => {
    const failure = remote(403, 'IOException', 'it broke\n\tat org.apache.Some.thing(Some.java:1)')
    expect(errorOfFailure(failure, { what: 'list /a', place: '/a', attempts: 1 })).toMatchObject({
      code: 'CONNECTOR_FAILED',
      message: 'HDFS could not list /a: it broke',
      details: { place: '/a', attempts: 1, status: 403, exception: 'IOException' },
    })
  })
})
