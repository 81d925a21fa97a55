import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Ajv, type AnySchemaObject } from 'ajv'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { Flags } from '../../src/cli/command/command.ts'
import { parseCommandLine } from '../../src/cli/command/parse.ts'
import { topicsPlaceOf } from '../../src/cli/flags/kafka.ts'
import { configurationOf } from '../../src/cli/flags/serving.ts'
import { quickstartCommand } from '../../src/cli/quickstart/quickstart.ts'
import { tokenCreateCommand } from '../../src/cli/verbs/token-create.ts'
import { parseBrokers } from '../../src/connectors/kafka/client/connection.ts'
import { parseWebHdfsUrl } from '../../src/files/webhdfs/address.ts'
import { configurationKeys, parseConfiguration } from '../../src/runtime/configuration/keys.ts'

interface Service {
  readonly image: string
  readonly user?: string
  readonly network_mode?: string
  readonly hostname?: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string | number>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
}

const file = new URL('../../docker-compose.yml', import.meta.url)
const compose = parse(readFileSync(file, 'utf8')) as {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: Readonly<Record<string, unknown>>
}
const { services } = compose

/** The JSON schema of the compose specification, as dclint ships it. */
function composeSchema(): AnySchemaObject {
  const dclint = dirname(createRequire(import.meta.url).resolve('dclint/package.json'))
  const text = readFileSync(join(dclint, 'schemas', 'compose.schema.json'), 'utf8')
  const { $schema: _draft, ...schema } = JSON.parse(text) as AnySchemaObject
  return schema
}

/** The words after `npm start --`, as a shell splits them. */
function quickstartWords(): string[] {
  const line = services['weir']!.command!.at(-1)!
  const words = line.slice(line.indexOf('npm start -- ') + 'npm start -- '.length)
  return [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!)
}

const flags = new Flags(parseCommandLine(quickstartCommand, quickstartWords()).flags)

/** `NAME://host:port,...` as a map. */
function listenersOf(setting: string): Map<string, string> {
  const entries = setting.split(',').map((entry) => entry.split('://') as [string, string])
  return new Map(entries)
}

describe('docker-compose.yml', () => {
  it('is what the compose specification describes; a misspelt key is not', () => {
    // The schema has formats and keywords that only Docker knows.
    const ajv = new Ajv({ strict: false, allErrors: true, validateFormats: false })
    const validate = ajv.compile(composeSchema())
    validate(compose)
    expect(validate.errors).toBeNull()
    const misspelt = structuredClone(compose) as { services: Record<string, object> }
    misspelt.services['weir'] = { ...misspelt.services['weir'], prots: ['9069:9069'] }
    expect(validate(misspelt)).toBe(false)
    expect(validate.errors).toMatchObject([
      { instancePath: '/services/weir', params: { additionalProperty: 'prots' } },
    ])
  })

  it('has the services of the set-up, each reachable under its name', () => {
    expect(Object.keys(services)).toEqual(['kafka', 'namenode', 'datanode', 'weir', 'volumes'])
    for (const [name, { hostname, depends_on, volumes }] of Object.entries(services)) {
      expect([name, undefined]).toContain(hostname)
      const others = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on ?? {})
      for (const other of others) expect(services).toHaveProperty(other)
      const named = (volumes ?? []).map((volume) => volume.split(':')[0]!)
      for (const volume of named.filter((word) => !word.startsWith('.'))) {
        expect(compose.volumes).toHaveProperty(volume)
      }
    }
  })

  it('names its images by digest, as the project of npm create does', () => {
    const byDigest = /^[a-z/]+:[\w.-]+@sha256:[0-9a-f]{64}$/
    for (const { image } of Object.values(services)) expect(image).toMatch(byDigest)
    expect(services['volumes']!.image).toBe(services['weir']!.image)
    const template = readFileSync(
      new URL('../../create/template/Dockerfile', import.meta.url),
      'utf8',
    )
    expect(template).toContain(`\nFROM ${services['weir']!.image}\n`)
    expect(template).toContain('\nUSER node\n')
  })

  it('runs nothing as root but what gives the volumes to their user, without a network', () => {
    for (const [name, { user, network_mode, volumes = [] }] of Object.entries(services)) {
      if (name !== 'volumes') expect(user).toMatch(/^(appuser|hadoop|\$\{WEIR_UID:-1000\}:.*)$/)
      else {
        expect({ user, network_mode }).toEqual({ user: 'root', network_mode: 'none' })
        expect(volumes.map((volume) => volume.split(':')[0])).toEqual(Object.keys(compose.volumes))
      }
    }
    expect(services['volumes']!.command![1]).toBe(services['weir']!.user)
  })

  it('starts the quickstart with options that it takes', () => {
    expect(flags.string('host')).toBe('0.0.0.0')
    const keys = configurationKeys().map(({ key }) => key)
    for (const key of Object.keys(configurationOf(flags))) expect(keys).toContain(key)
  })

  it('opens the query port with a token that it creates, and for this machine only', () => {
    const line = services['weir']!.command!.at(-1)!
    const create = /npm run -s weir -- (token create [^>]+) > (\S+)\)/.exec(line)!
    const words = create[1]!.split(' ').slice(2)
    const created = new Flags(parseCommandLine(tokenCreateCommand, words).flags)
    expect(created.string('role')).toBe('read')
    expect(flags.string('tokens')).toBe(created.string('tokens'))
    expect(line).toContain(`test -s ${create[2]}`)
    for (const { ports = [] } of Object.values(services)) {
      expect(ports.every((port) => port.startsWith('127.0.0.1:'))).toBe(true)
    }
  })

  it('publishes every port that clients of the quickstart are sent to', () => {
    const { queryPorts } = parseConfiguration(configurationOf(flags))
    expect(queryPorts).toEqual({ first: 9070, last: 9070 })
    expect(flags.string('query-threads')).toBe('1')
    const ports = [flags.string('port'), queryPorts!.first]
    expect(services['weir']!.ports).toEqual(ports.map((port) => `127.0.0.1:${port}:${port}`))
  })

  it('leads Weir to the listener for containers, and this machine to the other one', () => {
    const settings = services['kafka']!.environment!
    const advertised = listenersOf(String(settings['KAFKA_ADVERTISED_LISTENERS']))
    const bound = listenersOf(String(settings['KAFKA_LISTENERS']))
    const { brokers } = topicsPlaceOf(flags).kafka!
    expect(brokers).toBe(advertised.get('INSIDE'))
    expect(parseBrokers(brokers)[0]).toMatchObject({ host: 'kafka' })
    const outside = advertised.get('OUTSIDE')!
    expect(outside).toMatch(/^localhost:/)
    const port = outside.split(':')[1]
    expect(services['kafka']!.ports).toEqual([`127.0.0.1:${port}:${port}`])
    for (const [name, address] of advertised) {
      expect(bound.get(name)).toBe(`:${address.split(':')[1]}`)
    }
    const protocols = String(settings['KAFKA_LISTENER_SECURITY_PROTOCOL_MAP']).split(',')
    expect(protocols.map((entry) => entry.split(':')[0]).toSorted()).toEqual(
      [...bound.keys()].toSorted(),
    )
  })

  it('keeps the checkpoints in the HDFS of the set-up', () => {
    const url = configurationOf(flags)['execution.checkpointing.dir']!
    const { nameNodes, user } = parseWebHdfsUrl(url)
    expect(nameNodes).toEqual([{ host: 'namenode', port: 9870 }])
    expect(user).toBe('hadoop')
    expect(services['namenode']!.ports).toEqual(['127.0.0.1:9870:9870'])
    for (const name of ['namenode', 'datanode']) {
      expect(services[name]!.environment).toMatchObject({
        'CORE-SITE.XML_fs.defaultFS': 'hdfs://namenode:8020',
        'HDFS-SITE.XML_dfs.datanode.hostname': services['datanode']!.hostname,
      })
    }
  })
})
