import type { TopicsPlace } from '../../connectors/topics/place.ts'
import { systemClock } from '../../core/clock.ts'
import { unfinishedView } from '../../models/registry/unfinished.ts'
import { versionsOf } from '../../models/registry/version.ts'
import { type LiveSwitch, ModelAdministration } from '../../models/versions/model-administration.ts'
import { ModelRegistry } from '../../models/versions/model-registry.ts'
import type {
  ModelControl,
  ModelSwitch,
  ModelVersions,
  PromoteOptions,
  RollBackOptions,
} from '../port/model-control.ts'

/** Where the versions of a model are kept. */
export interface ModelPlace {
  /** Name in the registry, and of the topic. */
  readonly model: string
  /** Place of the model topic. */
  readonly topics: TopicsPlace
  readonly registry: TopicsPlace
}

/** The versions of a model in a registry, changed as `weir model` changes them. */
export class RegistryModelControl implements ModelControl {
  readonly model: string
  private readonly administration: ModelAdministration

  constructor({ model, topics, registry: place }: ModelPlace) {
    this.model = model
    const registry = new ModelRegistry({ place, clock: systemClock })
    this.administration = new ModelAdministration({
      registry,
      place: topics,
      model,
      clock: systemClock,
    })
  }

  async versions(): Promise<ModelVersions> {
    const { model } = this
    const { state, unfinished } = await this.administration.all()
    const { live = 0, rollback = 0, revision = 0 } = state.models.get(model) ?? {}
    const versions = versionsOf(state, model).map(({ golden: _, ...version }) => version)
    return {
      ...{ model, live, rollback, revision },
      versions: versions.reverse(),
      unfinished: unfinished.map((version) => unfinishedView(version, model)).reverse(),
    }
  }

  async promote(version: string, options: PromoteOptions): Promise<ModelSwitch> {
    const named = await this.administration.registered(version)
    const switched = await this.administration.promote(named, options)
    return this.switched(switched, switched.isForced ? 'forced' : 'promoted')
  }

  async rollBack({ expectLive, reason = 'by hand' }: RollBackOptions): Promise<ModelSwitch> {
    return this.switched(await this.administration.rollBack({ expectLive, reason }), 'rolled back')
  }

  private switched({ live, before }: LiveSwitch, how: ModelSwitch['how']): ModelSwitch {
    return { model: this.model, live, before, how }
  }
}
