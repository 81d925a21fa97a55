import type { KubernetesPlan } from './plan.ts'

/** An object of Kubernetes, as its API takes it. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Metadata
  readonly [field: string]: unknown
}

/** Name and labels of an object. */
export interface Metadata {
  readonly name: string
  readonly namespace?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}

/** Labels by which Services and policies find the pods of a job. */
export function podLabels({
  name,
}: Pick<KubernetesPlan, 'name'>): Readonly<Record<string, string>> {
  return { 'app.kubernetes.io/name': 'weir', 'app.kubernetes.io/instance': name }
}

/** Metadata of an object of a job. @param suffix end of its name */
export function metadataOf(
  plan: Pick<KubernetesPlan, 'name' | 'namespace'>,
  suffix = '',
): Metadata {
  const { name, namespace } = plan
  return {
    name: `${name}${suffix}`,
    ...(namespace === undefined ? {} : { namespace }),
    labels: { ...podLabels(plan), 'app.kubernetes.io/component': 'job' },
  }
}
