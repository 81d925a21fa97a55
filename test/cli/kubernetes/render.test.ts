import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { manifestsOf } from '../../../src/cli/kubernetes/manifests.ts'
import { planOf } from '../../../src/cli/kubernetes/plan-of-flags.ts'
import { kubernetesRenderCommand } from '../../../src/cli/kubernetes/render.ts'
import { runCommand } from '../../../src/cli/verbs/run.ts'
import { renderedCommand } from './rendered-command.ts'

const PLACE = ['-D', 'execution.checkpointing.dir=hdfs://nn1:9870,nn2:9871/weir']
const NAMED = ['--name', 'counts', '--image', 'registry.example.com/counts:1.4']
const LEAST = [...NAMED, '--brokers', 'kafka-0:9092,kafka-1:9094', ...PLACE]
const SCALED = ['--autoscaler', 'keda', '--lag-group', 'source', '--lag-topic', 'clicks']

const render = (...argv: readonly string[]) =>
  manifestsOf(
    planOf('src/job.ts', new Flags(parseCommandLine(kubernetesRenderCommand, argv).flags)),
  )

/** The manifest of a kind, as what kubectl would read of it. */
function one(kind: string, ...argv: readonly string[]) {
  const [found, ...more] = render(...argv).filter((manifest) => manifest.kind === kind)
  expect(more).toEqual([])
  return JSON.parse(JSON.stringify(found))
}

describe('weir kubernetes render', () => {
  it('prints what the issue names, and a Secret and an autoscaler where they are needed', () => {
    const plain = ['ServiceAccount', 'Service', 'Service', 'NetworkPolicy', 'PodDisruptionBudget']
    expect(render(...LEAST).map(({ kind }) => kind)).toEqual([...plain, 'StatefulSet'])
    const sasl = ['--sasl-mechanism', 'PLAIN', '--sasl-username', 'counts']
    const kinds = (...argv: readonly string[]) => render(...LEAST, ...argv).map(({ kind }) => kind)
    expect(kinds(...sasl)).toContain('Secret')
    expect(kinds(...sasl, '--existing-secret', 'mine')).not.toContain('Secret')
    expect(kinds(...SCALED)).toEqual([...plain, 'StatefulSet', 'ScaledObject'])
    expect(kinds(...sasl, ...SCALED)).toContain('TriggerAuthentication')
    expect(kinds(...SCALED.with(1, 'hpa'))).toEqual([
      ...plain,
      ...['StatefulSet', 'HorizontalPodAutoscaler'],
    ])
  })

  it('renders a command that weir run takes', () => {
    const variants = [
      [],
      ['--sasl-mechanism', 'PLAIN', '--sasl-username', 'counts', '--tls'],
      ['--kafka-tls-secret', 'kafka', '--kafka-client-cert', '--slots', '4'],
      ['--option', 'input=a=b', '-D', 'scale-out.partitions=12'],
    ]
    for (const more of variants) {
      const { words } = renderedCommand(one('StatefulSet', ...LEAST, ...more), 'counts-1')
      expect(words.slice(0, 2)).toEqual(['/app/node_modules/.bin/weir', 'run'])
      const { args, flags } = parseCommandLine(runCommand, words.slice(2))
      expect(args).toEqual(['src/job.ts'])
      expect(flags).toMatchObject({ 'scale-out': true, health: '0.0.0.0:8080' })
      expect(flags['set']).toContain('group.instance.id=counts-1')
      expect(flags['set']).toContain('application.id=counts')
    }
  })

  it('passes values on as they are: Kubernetes replaces nothing in them', () => {
    const text = 'a=$(POD_NAME) $$(x) $HOME'
    const { words } = renderedCommand(one('StatefulSet', ...LEAST, '--option', text), 'counts-0')
    expect(words[words.indexOf('--option') + 1]).toBe(text)
  })

  it('probes the port of the health of a process', () => {
    const set = one('StatefulSet', ...LEAST, '--health-port', '9000', '--startup-seconds', '95')
    const [container] = set.spec.template.spec.containers
    expect(container.ports).toEqual([{ name: 'health', containerPort: 9000 }])
    expect(container.args.join(' ')).toContain('--health 0.0.0.0:9000')
    expect(container.startupProbe).toMatchObject({
      httpGet: { path: '/health/startup', port: 'health' },
      ...{ periodSeconds: 10, failureThreshold: 10 },
    })
    expect(container.livenessProbe.httpGet.path).toBe('/health/live')
    expect(container.readinessProbe.httpGet.path).toBe('/health/ready')
  })

  it('gives a pod the time of its handover', () => {
    const graceOf = (...argv: readonly string[]) =>
      one('StatefulSet', ...LEAST, ...argv).spec.template.spec.terminationGracePeriodSeconds
    const minute = ['-D', 'execution.checkpointing.shutdown-timeout=1 min']
    expect(graceOf()).toBe(35)
    expect(graceOf(...minute)).toBe(80)
    expect(graceOf(...minute, '--grace-seconds', '70')).toBe(70)
  })

  it('lets pods connect to DNS, each other, the brokers, the storage, and what is named', () => {
    const { egress } = one('NetworkPolicy', ...LEAST, '--egress-port', '4317').spec
    const ports = egress.at(-1).ports.map(({ port }: { port: number }) => port)
    expect(ports).toEqual([4317, 9092, 9094, 9864, 9870, 9871].toSorted((a, b) => a - b))
    const ofS3 = (url: string) =>
      one('NetworkPolicy', ...LEAST.slice(0, -1), `execution.checkpointing.dir=${url}`)
        .spec.egress.at(-1)
        .ports.map(({ port }: { port: number }) => port)
    expect(ofS3('s3://bucket/weir')).toEqual([443, 9092, 9094])
    expect(ofS3('s3://bucket/weir?endpoint=http://minio:9000')).toEqual([9000, 9092, 9094])
  })

  it('mounts the claim of checkpoints in a folder', () => {
    const argv = [...LEAST.slice(0, -1), 'execution.checkpointing.dir=/checkpoints']
    const { containers, volumes } = one('StatefulSet', ...argv, '--checkpoints-claim', 'nfs').spec
      .template.spec
    expect(volumes).toContainEqual({
      ...{ name: 'checkpoints', persistentVolumeClaim: { claimName: 'nfs' } },
    })
    expect(containers[0].volumeMounts).toContainEqual({
      ...{ name: 'checkpoints', mountPath: '/checkpoints' },
    })
  })

  it('leaves the number of processes to an autoscaler', () => {
    expect(one('StatefulSet', ...LEAST, '--replicas', '5').spec.replicas).toBe(5)
    const scaled = [...LEAST, '--replicas', '5', ...SCALED, '--max-replicas', '7']
    expect(one('StatefulSet', ...scaled).spec).not.toHaveProperty('replicas')
    expect(one('ScaledObject', ...scaled).spec).toMatchObject({
      ...{ minReplicaCount: 5, maxReplicaCount: 7 },
    })
    expect(one('ScaledObject', ...LEAST, ...SCALED).spec.maxReplicaCount).toBe(24)
  })

  it.each<[string, readonly string[], RegExp]>([
    [
      'more processes than job partitions',
      ['--replicas', '25'],
      /--replicas 25 is more than the 24 job partitions/,
    ],
    [
      'an autoscaler up to more than those',
      [...SCALED, '--max-replicas', '13', '-D', 'scale-out.partitions=12'],
      /--max-replicas 13 is more than the 12/,
    ],
    ['fewer at most than at least', [...SCALED, '--max-replicas', '2'], /less than --replicas 3/],
    ['a time to end that is too short', ['--grace-seconds', '24'], /give at least 25/],
    ['too little memory', ['--memory', '1Gi'], /give at least 1536Mi/],
    ['a name for all pods', ['-D', 'group.instance.id=a'], /leave -D group.instance.id out/],
    [
      'an autoscaler without a source',
      ['--autoscaler', 'hpa'],
      /needs --lag-group GROUP and --lag-topic/,
    ],
    [
      'the lag of the group of the processes',
      SCALED.with(3, 'counts'),
      /no source commits; give the source a groupId of its own/,
    ],
    ['a limit that counts for nothing', ['--max-replicas', '4'], /needs --autoscaler hpa or keda/],
    ['a claim beside HDFS', ['--checkpoints-claim', 'nfs'], /--checkpoints-claim is for a path/],
    ['a name that DNS does not take', ['--namespace', 'My_Jobs'], /must be a name of at most 63/],
    ['an unknown unit', ['--memory', '4gb'], /must be a size such as 4Gi/],
  ])('refuses %s', (_what, more, message) => {
    expect(() => render(...LEAST, ...more)).toThrow(message)
  })

  it('refuses checkpoints that only one pod reaches', () => {
    const without = [...NAMED, '--brokers', 'kafka:9092']
    expect(() => render(...without)).toThrow(/all pods must reach the checkpoints/)
    const local = ['-D', 'execution.checkpointing.dir=/var/weir']
    expect(() => render(...without, ...local)).toThrow(/are in one pod only/)
  })

  it('prints YAML that keeps every text a text', async () => {
    const lines: string[] = []
    const odd = ['--option', 'a=on', '--option', 'b=012', '--name', 'yes']
    const argv = [...LEAST.slice(2), ...odd]
    const { flags } = parseCommandLine(kubernetesRenderCommand, argv)
    const io = { out: (line: string) => lines.push(line), err: () => undefined }
    // @ts-expect-error the command uses no other part of its surroundings
    await kubernetesRenderCommand.run({ flags, args: ['src/job.ts'], io })
    const texts = lines.join('\n').split('\n---\n')
    // As kubectl reads it.
    const read = texts.map((text) => parse(text, { version: '1.1' }))
    expect(read).toEqual(JSON.parse(JSON.stringify(render(...argv))))
    expect(read[0].metadata.name).toBe('yes')
  })
})
