import type { Benchmark } from '../harness/benchmark.ts'
import type { Throughput } from '../load/generator.ts'
import { servedShape } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { OUTSTANDING, percentilesOf, stretch, warmUp } from '../load/stretch.ts'

const ROUNDS = 9
const SCRAPE_EVERY_MS = 1000

/** `metrics-cost`: `predict-hot` while Prometheus's text is read each second, in turn with rounds without. */
export const metricsCostBenchmark: Benchmark = {
  name: 'metrics-cost',
  summary: 'predict-hot with a scrape of /metrics each second, against itself without',
  async run({ scale, say, workspace }) {
    const shape = servedShape(scale)
    const served = await workspace.serve(shape)
    const ask = await served.predictor(workspace.schedule(shape, 'zipf'))
    const url = `http://127.0.0.1:${await served.call('restPort')}/metrics`
    let bytes = 0
    const scrape = async (): Promise<void> => {
      const answer = await fetch(url)
      bytes = (await answer.arrayBuffer()).byteLength
    }
    await scrape()
    await warmUp(ask)
    const scraped: Throughput[] = []
    const plain: Throughput[] = []
    let scrapes = 0
    for (let round = 1; round <= ROUNDS; round++) {
      plain.push(await stretch(ask))
      let underWay: Promise<void> = Promise.resolve()
      const timer = setInterval(() => {
        scrapes += 1
        underWay = scrape()
      }, SCRAPE_EVERY_MS)
      scraped.push(await stretch(ask).finally(() => clearInterval(timer)))
      await underWay
      const [without, beside] = [plain, scraped].map((all) => Math.round(all.at(-1)!.perSecond))
      say(`round ${round}: ${without} predictions/s, with scrapes ${beside}`)
    }
    return [
      {
        name: 'metrics-cost',
        value: median(scraped.map(({ perSecond }) => perSecond)),
        unit: 'predictions/s',
        targetRatio: 0.98,
        rival: median(plain.map(({ perSecond }) => perSecond)),
        rivalName: 'without scrapes',
        details: {
          ...shape,
          rounds: ROUNDS,
          outstanding: OUTSTANDING,
          scrapes,
          bytesOfScrape: bytes,
          ...percentilesOf(scraped),
        },
      },
    ]
  },
}
