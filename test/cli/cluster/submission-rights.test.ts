import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reachOf, reachOfKey } from '../../../src/cli/cluster/option-reach.ts'
import {
  requireReach,
  rightsText,
  type SubmissionRights,
} from '../../../src/cli/cluster/submission-rights.ts'
import { COMMANDS } from '../../../src/cli/jobmanager/jobmanager.ts'
import { asWeirError } from '../../../src/core/errors.ts'
import { AllowedHosts } from '../../../src/http/access/allowed-hosts.ts'
import { configurationKeys } from '../../../src/runtime/configuration/keys.ts'

/** Every option of a job by what it reaches on the machine of the JobManager. A new option needs a line. */
const REACHES = {
  nothing: `tags topic quarantine observations dimension option check-types memory max-key-bytes log-format slots
    query-threads port allow-non-restored-state take-over accept-lost-transactions sasl-mechanism sasl-username tls
    ratings-per-second item-ratings-per-second window-count window-ms learn-from never-stop event-id event-window write-back delete-deltas rule noise
    new-user-noise user-forgetting item-forgetting newcomers evidence learning-rate schedule decay user-regularization
    item-regularization order stack-forgetting feedback loss positive alpha beta l1 l2 under-way
    max-features hash-bits crosses`,
  code: 'repository',
  place: 'data-dir titles restore-from sasl-password-file tls-ca tls-cert tls-key',
  hosts: 'brokers',
  address: 'host',
  listener: `tokens people token-file insecure-listener audit-file trusted-proxy allow-origin server-tls-cert server-tls-key server-tls-ca`,
  settings: 'set',
  never: `token sasl-password detached scale-out processes jobmanager jobmanager-tls jobmanager-tls-ca jobmanager-tls-cert
    jobmanager-tls-key listen http grpc health model-control allow-modules allow-remote remote-keys`,
}

/** Every configuration key that reaches something. */
const KEYS_REACH = {
  place: `state.backend.directory execution.checkpointing.dir execution.checkpointing.savepoint-dir
    execution.state-recovery.path`,
  address: 'rest.bind-address',
  listener: `rest.insecure-listener rest.tls.cert rest.tls.key rest.tls.ca queryable-state.server.tls.cert
    queryable-state.server.tls.key queryable-state.server.tls.ca`,
}

const listed = (table: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(table).flatMap(([reach, names]) =>
    names.split(/\s+/).map((name): [string, string] => [name, reach]),
  )

let folder: string
let rights: SubmissionRights
const at = (name: string): string => join(folder, name)

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'weir-rights-'))
  for (const name of ['data', 'more', 'models', 'secret']) mkdirSync(at(name))
  writeFileSync(at('secret/password'), 'hunter2')
  symlinkSync(at('secret'), at('data/link'))
  rights = {
    modules: [at('models')],
    files: [at('data'), at('more')],
    hosts: AllowedHosts.parse('k1:9092,k2:9092,namenode:9870', '--allow-remote'),
    host: '10.0.0.5',
    listener: { tokens: at('tokens.json') },
  }
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Throws the code and the sentence of a refusal. */
const reaches = (name: string, value: string | boolean | readonly string[]) => (): void => {
  try {
    requireReach(name, value, rights)
  } catch (error) {
    const { code, message } = asWeirError(error, 'ILLEGAL_STATE')
    throw new Error(`${code}: ${message}`)
  }
}

describe('an option of a submission', () => {
  it('says what it can reach, each one of them, and so does each configuration key', () => {
    const options = Object.values(COMMANDS).flatMap((command) => Object.keys(command.options))
    const known = Object.fromEntries(listed(REACHES))
    expect(Object.keys(known).sort()).toEqual([...new Set(options)].sort())
    for (const [name, reach] of Object.entries(known)) expect(reachOf(name), name).toBe(reach)
    const reaching = Object.fromEntries(listed(KEYS_REACH))
    for (const { key, kind } of configurationKeys()) {
      expect(reachOfKey(key, kind), key).toBe(reaching[key] ?? 'nothing')
    }
  })

  it('that says nothing is refused', () => {
    expect(reachOf('a-new-option')).toBeUndefined()
    expect(reaches('a-new-option', 'x')).toThrow('ACCESS_DENIED')
  })

  it.each(listed({ place: REACHES.place }).map(([name]) => name))(
    'names a file only below an allowed folder, also behind links: --%s',
    (name) => {
      expect(reaches(name, at('data/a/b'))).not.toThrow()
      expect(reaches(name, `file://${at('more/x')}`)).not.toThrow()
      for (const path of [
        '/etc/passwd',
        'file:///etc/passwd',
        at('secret/password'),
        at('data/link/password'),
        `${at('data')}/../secret/password`,
        `${at('data')}/link/../../etc`,
        '../secret/password',
        at('data-not/x'),
        ...(name === 'restore-from' ? [] : ['package.json']),
      ]) {
        expect(reaches(name, path), path).toThrow(/ACCESS_DENIED.*--allow-files FOLDER/)
      }
    },
  )

  it('names a folder of code only below that of --modules', () => {
    expect(reaches('repository', at('models/mine'))).not.toThrow()
    expect(reaches('repository', at('data'))).toThrow('--modules FOLDER')
  })

  it('calls only listed brokers and NameNodes, and shows them only allowed files', () => {
    expect(reaches('brokers', 'k1:9092,K2:9092')).not.toThrow()
    for (const brokers of ['127.0.0.1:22901', 'k1:9092,evil:9092', 'k1:9093', 'k1']) {
      expect(reaches('brokers', brokers), brokers).toThrow(/ACCESS_DENIED.*--allow-remote/)
    }
    const dir = (url: string) => reaches('set', [`execution.checkpointing.dir=${url}`])
    expect(dir('hdfs://namenode:9870/weir')).not.toThrow()
    expect(dir('hdfs://namenode/weir')).not.toThrow()
    expect(dir('hdfs://evil:9870/weir')).toThrow('--allow-remote')
    expect(dir('hdfs://namenode:9870,evil:9870/weir')).toThrow('--allow-remote')
    expect(dir('hdfs://namenode:9870/weir?token-file=/etc/passwd')).toThrow('--allow-files')
    expect(dir('s3://any/weir?endpoint=http://namenode:9870')).not.toThrow()
    expect(dir('s3://any/weir?endpoint=http://evil:9870')).toThrow('--allow-remote')
    expect(dir('s3://any/weir')).toThrow('--allow-remote')
  })

  it('opens no port to others, and decides nothing about who may enter', () => {
    for (const host of ['127.0.0.1', 'localhost', '::1', '10.0.0.5']) {
      expect(reaches('host', host), host).not.toThrow()
    }
    for (const host of ['0.0.0.0', '::', '', 'example.org']) {
      expect(reaches('host', host), host).toThrow('ACCESS_DENIED')
    }
    expect(reaches('insecure-listener', true)).toThrow('ACCESS_DENIED')
    expect(reaches('insecure-listener', false)).not.toThrow()
    expect(reaches('token-file', at('data/token'))).toThrow('ACCESS_DENIED')
    expect(reaches('tokens', at('data/tokens.json'))).toThrow('ACCESS_DENIED')
    expect(reaches('tokens', at('tokens.json'))).not.toThrow()
  })

  it('sets no configuration key that reaches more', () => {
    const set = (text: string) => reaches('set', [text])
    expect(set('execution.checkpointing.interval=1s')).not.toThrow()
    expect(set('execution.checkpointing.savepoint-dir=savepoints')).not.toThrow()
    expect(set('execution.state-recovery.path=2')).not.toThrow()
    expect(set(`execution.checkpointing.dir=${at('data/checkpoints')}`)).not.toThrow()
    for (const text of [
      'execution.checkpointing.dir=/etc/weir',
      'state.backend.directory=/etc/weir',
      'rest.bind-address=0.0.0.0',
      'rest.insecure-listener=true',
      'rest.tls.key=/etc/ssl/private/key.pem',
      `queryable-state.server.tls.cert=${at('data/own.crt')}`,
    ]) {
      expect(set(text), text).toThrow('ACCESS_DENIED')
    }
    expect(set('heartbeat.timout=1 s')).toThrow(
      'UNKNOWN_OPTION: the configuration key "heartbeat.timout" is not known; did you mean "heartbeat.timeout"?',
    )
    expect(set('no key')).toThrow('UNKNOWN_OPTION')
  })

  it('is bounded by what the start of the JobManager says', () => {
    expect(
      rightsText({ ...rights, modules: [], files: ['/data'], hosts: new AllowedHosts() }),
    ).toBe('submissions may run no modules, name files below /data, and call none')
    expect(rightsText(rights)).toContain(`modules in ${at('models')}`)
    expect(rightsText(rights)).toContain('k1:9092, k2:9092')
  })
})
