/** Name of a key in the Secret of a job. */
export type SecretKey = 'sasl-password' | 'aws-access-key-id' | 'aws-secret-access-key'

/** What is rendered: a job in many processes, each of them a pod. */
export interface KubernetesPlan {
  /** Name of the StatefulSet and the beginning of all other names. */
  readonly name: string
  /** Undefined for the namespace in which the manifests are applied. */
  readonly namespace: string | undefined
  readonly image: string
  /** Folder of the job in the image, with `node_modules`. */
  readonly folder: string
  /** Module of the job in the image. */
  readonly job: string
  readonly replicas: number
  /** Name of the group of the processes. */
  readonly applicationId: string
  /** Words after `weir run JOB --scale-out` that the user has given: options of the job, settings, slots. */
  readonly args: readonly string[]
  readonly kafka: KafkaPlan
  readonly checkpoints: CheckpointsPlan
  /** Quantities of Kubernetes for each pod. */
  readonly resources: { readonly cpu: string; readonly memory: string; readonly disk: string }
  readonly healthPort: number
  /** Time between SIGTERM and SIGKILL, s. */
  readonly graceSeconds: number
  /** Time until a pod that is not ready for the first time is started again, s. */
  readonly startupSeconds: number
  readonly secret: SecretPlan
  readonly accountAnnotations: Readonly<Record<string, string>>
  /** Further ports that pods may connect to. */
  readonly egressPorts: readonly number[]
  /** Undefined where the number of processes is fixed. */
  readonly autoscaler: AutoscalerPlan | undefined
}

/** How the pods reach Kafka. */
export interface KafkaPlan {
  readonly brokers: string
  readonly sasl: { readonly mechanism: string; readonly username: string } | undefined
  /** Undefined without encryption. */
  readonly tls: KafkaTlsPlan | undefined
}

/** Encryption of the connections to Kafka. */
export interface KafkaTlsPlan {
  /** Secret with `ca.crt`; undefined where the authorities of Node are trusted. */
  readonly secret: string | undefined
  /** Whether the Secret has `tls.crt` and `tls.key` of a client, too. */
  readonly hasClient: boolean
}

/** Where the checkpoints are. */
export interface CheckpointsPlan {
  readonly place: string
  /** A claim on a volume that all pods write, and where it is mounted; undefined for `hdfs://` and `s3://`. */
  readonly claim: { readonly name: string; readonly path: string } | undefined
  /** Ports of the storage. */
  readonly ports: readonly number[]
}

/** The Secret of the job. */
export interface SecretPlan {
  readonly name: string
  /** Keys that the pods read; none without secrets. */
  readonly keys: readonly SecretKey[]
  /** Whether the Secret is there already, so that no template is rendered. */
  readonly exists: boolean
}

/** What changes the number of processes: Kubernetes itself by a metric, or KEDA. */
export const AUTOSCALERS = ['hpa', 'keda', 'none'] as const

/** An autoscaler by the lag of the sources. */
export interface AutoscalerPlan {
  readonly kind: 'hpa' | 'keda'
  /** Most processes. The fewest are the `replicas` of the plan. */
  readonly mostReplicas: number
  /** Group under which the source commits what it has read (`groupId`). */
  readonly group: string
  /** Topic of the source. */
  readonly topic: string
  /** Records that a process may lag behind before another one is started. */
  readonly lagPerProcess: number
  /** Name of the metric of the lag, for `hpa`. */
  readonly metric: string
}
