/* What `shopsync schedule` serves beside health and metrics: the report and the dictionary, for those who may reach it. */
import type { FastifyInstance } from 'fastify'
import type { lastKnown } from '../../shell/intime.js'
import { type ListeningServer, listenAt, type Watched } from '../../shell/statusserver.js'

/** What is served: pages by their paths, and the runs. Slow pages are rendered in a thread. */
export interface Served extends Watched {
  readonly pages: Readonly<Record<string, ReturnType<typeof lastKnown<string>>>>
  readonly runs: ReturnType<typeof lastKnown<object>>
}

const html = 'text/html; charset=utf-8'

function routes(app: FastifyInstance, served: Served): void {
  // What was known before the warehouse went silent is shown, and isn't taken for an answer of now.
  for (const [path, page] of Object.entries(served.pages))
    app.get(path, async (_request, reply) => {
      const { value, trouble } = await page()
      return reply
        .code(trouble === undefined ? 200 : 503)
        .type(html)
        .send(value)
    })
  app.get('/runs.json', async (_request, reply) => {
    const { value, trouble } = await served.runs()
    if (trouble === undefined) return value
    return reply.code(503).send({ error: trouble, ...value })
  })
}

/** Listens; throws Stop if the port isn't available. */
export const serve = (
  at: { readonly host: string; readonly port: number },
  served: Served,
): Promise<ListeningServer> =>
  listenAt(at, served, {
    setting: 'schedule',
    paths: [...Object.keys(served.pages), '/runs.json'],
    routes: (app) => routes(app, served),
  })
