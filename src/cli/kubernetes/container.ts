import type { KubernetesPlan, SecretKey } from './plan.ts'

/** Folder of what a pod keeps while it runs: its state, and the log of the embedded topics. */
const DATA = '/data'
/** Folder of the files of the Secret for TLS. */
const TLS = '/etc/weir/kafka-tls'

/** Variables of the environment by the keys of the Secret. */
const VARIABLES: Readonly<Record<SecretKey, string>> = {
  'sasl-password': 'WEIR_SASL_PASSWORD',
  'aws-access-key-id': 'AWS_ACCESS_KEY_ID',
  'aws-secret-access-key': 'AWS_SECRET_ACCESS_KEY',
}

/** Time between two probes, s. */
const PROBE_SECONDS = 10

/** The container of a process of the job. */
export function containerOf(plan: KubernetesPlan): object {
  const { image, folder, resources, healthPort, startupSeconds } = plan
  const probe = { periodSeconds: PROBE_SECONDS, timeoutSeconds: 5 }
  return {
    name: 'weir',
    image,
    workingDir: folder,
    command: [`${folder.replace(/\/$/, '')}/node_modules/.bin/weir`],
    args: argsOf(plan),
    env: environmentOf(plan),
    ports: [{ name: 'health', containerPort: healthPort }],
    resources: {
      requests: {
        cpu: resources.cpu,
        memory: resources.memory,
        'ephemeral-storage': resources.disk,
      },
      limits: { memory: resources.memory, 'ephemeral-storage': resources.disk },
    },
    startupProbe: {
      ...{ httpGet: probeOf('startup'), ...probe },
      failureThreshold: Math.ceil(startupSeconds / PROBE_SECONDS),
    },
    livenessProbe: { httpGet: probeOf('live'), ...probe, failureThreshold: 3 },
    readinessProbe: { httpGet: probeOf('ready'), ...probe, failureThreshold: 1 },
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    volumeMounts: mountsOf(plan),
  }
}

/** The volumes of a pod. */
export function volumesOf({ resources, kafka, checkpoints }: KubernetesPlan): object[] {
  const { claim } = checkpoints
  const secretName = kafka.tls?.secret
  return [
    { name: 'data', emptyDir: { sizeLimit: resources.disk } },
    { name: 'tmp', emptyDir: { sizeLimit: '1Gi' } },
    ...(claim === undefined
      ? []
      : [{ name: 'checkpoints', persistentVolumeClaim: { claimName: claim.name } }]),
    ...(secretName === undefined ? [] : [{ name: 'kafka-tls', secret: { secretName } }]),
  ]
}

function probeOf(name: string): object {
  return { path: `/health/${name}`, port: 'health' }
}

/** The words after `weir`. Kubernetes puts the name of the pod into them. */
function argsOf(plan: KubernetesPlan): string[] {
  const { job, args, applicationId, checkpoints, healthPort } = plan
  const settings = {
    'application.id': applicationId,
    'execution.checkpointing.dir': checkpoints.place,
  }
  return [
    ...['run', literally(job), '--scale-out', '--health', `0.0.0.0:${healthPort}`],
    ...['--data-dir', DATA, '--log-format', 'json'],
    ...kafkaArgs(plan.kafka).map(literally),
    ...Object.entries(settings).flatMap(([key, value]) => ['-D', literally(`${key}=${value}`)]),
    ...['-D', 'group.instance.id=$(POD_NAME)'],
    ...args.map(literally),
  ]
}

/** A word in which Kubernetes finds no variable. */
function literally(word: string): string {
  return word.replaceAll('$', '$$$$')
}

function kafkaArgs({ brokers, sasl, tls }: KubernetesPlan['kafka']): string[] {
  return [
    ...['--brokers', brokers],
    ...(sasl === undefined
      ? []
      : ['--sasl-mechanism', sasl.mechanism, '--sasl-username', sasl.username]),
    ...(tls === undefined ? [] : tls.secret === undefined ? ['--tls'] : tlsFiles(tls.hasClient)),
  ]
}

function tlsFiles(hasClient: boolean): string[] {
  const client = ['--tls-cert', `${TLS}/tls.crt`, '--tls-key', `${TLS}/tls.key`]
  return ['--tls-ca', `${TLS}/ca.crt`, ...(hasClient ? client : [])]
}

function environmentOf({ secret }: KubernetesPlan): object[] {
  return [
    { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    ...secret.keys.map((key) => ({
      name: VARIABLES[key],
      valueFrom: { secretKeyRef: { name: secret.name, key } },
    })),
  ]
}

function mountsOf({ kafka, checkpoints }: KubernetesPlan): object[] {
  const { claim } = checkpoints
  return [
    { name: 'data', mountPath: DATA },
    // Sockets by which processes see each other, and the compiled code.
    { name: 'tmp', mountPath: '/tmp' },
    ...(claim === undefined ? [] : [{ name: 'checkpoints', mountPath: claim.path }]),
    ...(kafka.tls?.secret === undefined
      ? []
      : [{ name: 'kafka-tls', mountPath: TLS, readOnly: true }]),
  ]
}
