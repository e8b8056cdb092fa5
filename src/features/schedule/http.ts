/* What `shopsync schedule` serves beside health and metrics: the report and the dictionary, for those who may reach it. */
import type { FastifyInstance } from 'fastify'
import { type ListeningServer, listenAt, type Watched } from '../../shell/statusserver.js'

/** What is served. Slow pages are rendered in a thread. */
export interface Served extends Watched {
  /** The owner's page, the operator's page, and the page of runs. */
  page(): Promise<string>
  operations(): Promise<string>
  runsPage(): Promise<string>
  runs(): Promise<object>
  dictionary(): Promise<string>
}

const html = 'text/html; charset=utf-8'

function routes(app: FastifyInstance, served: Served): void {
  app.get('/', async (_request, reply) => reply.type(html).send(await served.page()))
  app.get('/operations', async (_request, reply) => reply.type(html).send(await served.operations()))
  app.get('/runs', async (_request, reply) => reply.type(html).send(await served.runsPage()))
  app.get('/runs.json', () => served.runs())
  app.get('/dictionary', async (_request, reply) => reply.type(html).send(await served.dictionary()))
}

/** Listens; throws Stop if the port isn't available. */
export const serve = (
  at: { readonly host: string; readonly port: number },
  served: Served,
): Promise<ListeningServer> =>
  listenAt(at, served, {
    setting: 'schedule',
    paths: ['/', '/operations', '/runs', '/runs.json', '/dictionary'],
    routes: (app) => routes(app, served),
  })
