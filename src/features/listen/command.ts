import type { Command, Feature } from '../../shell/command.js'

const words: Command = {
  name: 'listen',
  summary: "receives the source's events, and syncs what they name within seconds",
  help: `
Stays up and receives events (webhooks) at POST /webhooks; an event is answered when it is on the disk. What an event
names is read from the source's list, by the same walk as every sync: no value of an event is believed. While another
command works on the warehouse, that command syncs what events name.

GET /health says that it lives, GET /ready that events can be stored. The source delivers to https alone: give it a
certificate, or put it behind a proxy that has one (docs/webhooks.md). shopsync schedule does the same beside its jobs where
the configuration says "schedule": {"events": true}.

Events may be lost on their way: keep the hourly and the nightly job.`,
  examples: [
    ['shopsync listen', 'receives at http://127.0.0.1:8787/webhooks'],
    [
      'shopsync listen --host 0.0.0.0 --port 8443 --tls-cert fullchain.pem --tls-key privkey.pem',
      'with a certificate of its own',
    ],
    ['shopsync listen --no-ring', 'stores events, and leaves the rest to the runs of other commands'],
  ],
  options: [
    { flags: '--host <host>', description: 'address to listen on (default: events.host, 127.0.0.1)' },
    { flags: '--port <n>', description: 'port to listen on, 0 for a free one (default: events.port, 8787)' },
    { flags: '--tls-cert <file>', description: 'certificate in PEM, its chain included' },
    { flags: '--tls-key <file>', description: 'its key in PEM' },
    { flags: '--no-ring', description: 'only store events' },
  ],
  run: async (invocation) => {
    const [{ withContext }, { listenUntilEnd }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
    ])
    return withContext(invocation, listenUntilEnd)
  },
}

export const listen: Feature = { command: words }
