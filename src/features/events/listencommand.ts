import type { Command, Feature } from '../../shell/command.js'

const words: Command = {
  name: 'listen',
  group: 'Keep it running',
  summary: "receive the source's events, and sync what they name within seconds",
  help: `
Stays up and receives events (webhooks) at POST /webhooks. Stores each event on disk before answering it, then reads what
the event names from the source's list. While another command works on the warehouse, that command reads it.

GET /health shows that it is up, GET /ready that events can be stored. The source delivers only to https: give it a
certificate, or put it behind a proxy that has one (docs/webhooks.md). shopsync schedule does the same next to its jobs
if the configuration has "schedule": {"events": true}. With --json it prints its address and process id when it is up.

Events can get lost on the way: keep the hourly and the nightly job.`,
  examples: [
    ['shopsync listen', 'receives at http://127.0.0.1:8787/webhooks'],
    [
      'shopsync listen --host 0.0.0.0 --port 8443 --tls-cert fullchain.pem --tls-key privkey.pem',
      'with a certificate of its own',
    ],
  ],
  options: [
    { flags: '--host <host>', description: 'address to listen on (default: events.host, 127.0.0.1)' },
    { flags: '--port <n>', description: 'port to listen on, 0 for a free one (default: events.port, 8787)' },
    { flags: '--tls-cert <file>', description: 'certificate in PEM, with its chain' },
    { flags: '--tls-key <file>', description: 'its key in PEM' },
    { flags: '--no-ring', description: 'only store events' },
  ],
  run: async (invocation) => {
    const [{ stayUp }, { listenUntilEnd }] = await Promise.all([
      import('../../shell/stayup.js'),
      import('./hearing.js'),
    ])
    return stayUp(invocation, listenUntilEnd)
  },
}

export const listen: Feature = { command: words }
