import { type Command, Flags, needs, type OptionSpec } from '../command/command.ts'
import { wholeNumber } from '../flag-kinds/numbers.ts'
import { keyValue } from '../flag-kinds/pairs.ts'
import { addresses } from '../flag-kinds/places.ts'
import { name, topicName, word } from '../flag-kinds/words.ts'
import { KAFKA_OPTIONS } from '../flags/kafka.ts'
import { SERVING_OPTIONS } from '../flags/serving.ts'
import {
  bytesOfPod,
  cpus,
  folderInImage,
  imageName,
  moduleInImage,
  namespaceName,
  objectName,
  portOfPod,
  referredName,
} from './flag-kinds.ts'
import { manifestsOf, REPLACE_ME } from './manifests.ts'
import { AUTOSCALERS } from './plan.ts'
import { planOf } from './plan-of-flags.ts'

const SCALED = [needs('autoscaler', 'hpa', 'keda')]

const AUTOSCALER_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  autoscaler: {
    type: 'string',
    value: word(AUTOSCALERS),
    default: 'none',
    help: 'What changes the number of processes by the lag of a source: hpa (with an adapter for external metrics), or keda',
  },
  'max-replicas': {
    type: 'string',
    needs: SCALED,
    value: wholeNumber({ min: 1, max: 1000 }),
    help: 'Most processes (default: scale-out.partitions)',
  },
  'lag-group': {
    type: 'string',
    needs: SCALED,
    value: name('GROUP'),
    help: 'Group under which a source of the job commits what it has read: its groupId',
  },
  'lag-topic': { type: 'string', needs: SCALED, value: topicName, help: 'Topic of that source' },
  'lag-per-process': {
    type: 'string',
    needs: SCALED,
    value: wholeNumber({ min: 1 }),
    default: '10000',
    help: 'Records that each process may lag behind before another one is started',
  },
  'lag-metric': {
    type: 'string',
    needs: [needs('autoscaler', 'hpa')],
    value: name(),
    default: 'kafka_consumergroup_lag',
    help: 'External metric with the labels consumergroup and topic',
  },
}

const POD_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  'app-dir': {
    type: 'string',
    value: folderInImage,
    default: '/app',
    help: 'Folder of the project in the image, with node_modules',
  },
  cpu: { type: 'string', value: cpus, default: '2', help: 'Processors that each pod asks for' },
  memory: {
    type: 'string',
    value: bytesOfPod,
    default: '4Gi',
    help: 'Memory of each pod, also its limit',
  },
  disk: {
    type: 'string',
    value: bytesOfPod,
    default: '10Gi',
    help: 'Disk of each pod for its state while it runs',
  },
  'health-port': {
    type: 'string',
    value: portOfPod,
    default: '8080',
    help: 'Port of /health/live, /health/ready and /health/startup',
  },
  'grace-seconds': {
    type: 'string',
    value: wholeNumber({ min: 1, max: 86_400 }),
    help: 'Seconds from SIGTERM to SIGKILL, at least the time of the handover and 10 (default: that and 20)',
  },
  'startup-seconds': {
    type: 'string',
    value: wholeNumber({ min: 10, max: 86_400 }),
    default: '600',
    help: 'Seconds in which a pod must be ready for the first time: it restores its state',
  },
}

/** `weir kubernetes render`: prints the manifests of a job in many processes. */
export const kubernetesRenderCommand: Command = {
  name: 'kubernetes render',
  summary: 'Print manifests of Kubernetes for a job of your own in many processes',
  positions: [{ value: moduleInImage }],
  options: {
    name: {
      type: 'string',
      isRequired: true,
      value: objectName,
      help: 'Name of the objects, and application.id unless it is set',
    },
    namespace: { type: 'string', value: namespaceName, help: 'Namespace (default: none is named)' },
    image: {
      type: 'string',
      isRequired: true,
      value: imageName,
      help: 'Image with the project: its modules and node_modules',
    },
    brokers: { type: 'string', isRequired: true, value: addresses, help: 'Kafka brokers' },
    replicas: {
      type: 'string',
      value: wholeNumber({ min: 1, max: 1000 }),
      default: '3',
      help: 'Processes, at most scale-out.partitions; with an autoscaler the fewest',
    },
    slots: SERVING_OPTIONS['slots']!,
    option: {
      type: 'string',
      multiple: true,
      value: keyValue,
      help: 'Option for the job (repeatable)',
    },
    set: SERVING_OPTIONS['set']!,
    'checkpoints-claim': {
      type: 'string',
      value: referredName,
      help: 'Claim on a volume that all pods write, for an execution.checkpointing.dir that is a path',
    },
    'existing-secret': {
      type: 'string',
      value: referredName,
      help: 'Secret that is there with the keys of the template, which is then not printed',
    },
    'account-annotation': {
      type: 'string',
      multiple: true,
      value: keyValue,
      help: 'Annotation of the ServiceAccount, such as the role by which it uses S3 (repeatable)',
    },
    'egress-port': {
      type: 'string',
      multiple: true,
      value: portOfPod,
      help: 'Further port that the pods may connect to (repeatable)',
    },
    'sasl-mechanism': KAFKA_OPTIONS['sasl-mechanism']!,
    'sasl-username': KAFKA_OPTIONS['sasl-username']!,
    tls: KAFKA_OPTIONS['tls']!,
    'kafka-tls-secret': {
      type: 'string',
      value: referredName,
      help: 'Encrypt to Kafka; Secret with its certificate authority, ca.crt',
    },
    'kafka-client-cert': {
      type: 'boolean',
      needs: [needs('kafka-tls-secret')],
      help: 'That Secret has a client certificate, too: tls.crt and tls.key',
    },
    ...POD_OPTIONS,
    ...AUTOSCALER_OPTIONS,
  },
  details: `Prints YAML for "kubectl apply": a StatefulSet whose pods run the job with --scale-out, Services, a
PodDisruptionBudget, a ServiceAccount, a NetworkPolicy, a template of a Secret where one is needed, and an autoscaler if
one is asked for. It asks no cluster and changes nothing. With --json each object is a line. Keys of weir.yaml in this
folder count as -D.

The checkpoints must be where all pods reach them: -D execution.checkpointing.dir.

Examples:
  weir kubernetes render src/counts-job.ts --name counts --image registry.example.com/counts:1.4 --brokers kafka:9092 -D execution.checkpointing.dir=hdfs://namenode:9870/weir
  weir kubernetes render src/counts-job.ts --name counts --image registry.example.com/counts:1.4 --brokers kafka:9093 --sasl-mechanism SCRAM-SHA-512 --sasl-username counts --kafka-tls-secret kafka-ca -D execution.checkpointing.dir=s3://my-bucket/weir --autoscaler keda --lag-group counts-source --lag-topic clicks`,
  async run({ flags: values, args, io }) {
    const flags = new Flags(values)
    const plan = planOf(args[0]!, flags)
    const manifests = manifestsOf(plan)
    if (flags.boolean('json')) {
      for (const manifest of manifests) io.out(JSON.stringify(manifest))
    } else {
      const { stringify } = await import('yaml')
      // Kubernetes reads YAML 1.1, in which "on" and "012" without quotes are no texts.
      const text = manifests.map((manifest) =>
        stringify(manifest, { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false }),
      )
      for (const line of text.join('---\n').trimEnd().split('\n')) io.out(line)
    }
    const { secret } = plan
    if (secret.exists || secret.keys.length === 0) return 0
    io.err(
      `put values in place of ${REPLACE_ME} in the Secret ${secret.name}; once it is there, add --existing-secret ${secret.name}, so that it is not overwritten`,
    )
    return 0
  },
}
