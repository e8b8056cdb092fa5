// biome-ignore-all lint/suspicious/noTemplateCurlyInString: texts of the compiled program
/**
 * What stays up around the runs, taken away piece by piece: each mutant is one change of the compiled program, under the
 * promise that it breaks (docs/operations.md), with the test that has to notice it and the warehouses on which it has to.
 * `npm run test:long -- service` plays them; `npm test` sees that each still fits.
 */
import type { MutantTable, ProductMutant } from './productmutants.js'

type Noticed = Pick<ProductMutant, 'test' | 'name' | 'on'>

const onBoth = (test: string, name: string): Noticed => ({ test, name, on: ['sqlite', 'postgres'] })
const noticed = (test: string, name: string): Noticed => ({ test, name, on: [] })

const schedule = 'test/service/schedule.test.ts'
const inTurn = onBoth(schedule, 'runs each job at its instants')
const caughtUp = onBoth(schedule, 'catches up once what was missed')
const planned = onBoth(schedule, 'plans before anything has run')
const cutShort = onBoth(schedule, 'goes on after a signal where it was cut short')
const triedAgain = onBoth(schedule, 'tries a job once more a minute after')
const readAgain = onBoth(schedule, 'reads job files again')
const nights = noticed(schedule, 'runs every planned instant')

const instants = 'test/config/instants.test.ts'
const gap = noticed(instants, '30 2 * * * in America/Chicago')
const twice = noticed(instants, '30 1 * * * in America/Chicago')
const intervals = noticed(instants, '0 * * * * in Europe/Berlin')
const staying = 'test/service/scheduleprocess.test.ts'
const serves = noticed(staying, 'serves, and ends by SIGTERM with 0')
const refuses = noticed(staying, 'says what is wrong, what it expected and what to type')

const jobs = 'test/service/scheduledjobs.test.ts'
const ready = onBoth(jobs, 'is ready once it listens')
const told = onBoth(jobs, 'tells who is to be told, and calls each heartbeat once')
const ended = onBoth(jobs, 'SIGTERM ends the job in hand')
const killed = onBoth(jobs, 'a kill calls nobody')

const job = 'test/sync/job.test.ts'
const goesOn = onBoth(job, 'goes on after a step that failed')
const doneAlready = onBoth(job, 'does nothing for an instant that another program')
const limited = onBoth(job, 'ends at its time limit')
const waits = onBoth(job, 'waits for the run that holds the warehouse')
const recorded = onBoth(job, 'records one run')
const quietly = onBoth(job, 'has a step that asks the source nothing')

const alerts = 'test/service/alerts.test.ts'
const story = onBoth(alerts, 'each kind is told once within a run of its fault')
const signed = onBoth(alerts, 'signs as the Standard Webhooks reference verifies')
const kept = onBoth(alerts, 'keeps what nobody took')
const onceForAll = onBoth(alerts, 'waits as a rule says')
const compared = onBoth(alerts, 'differences that verify found last')
const away = onBoth(alerts, 'a warehouse that is away is told')

const cli = 'test/cli/alerts.test.ts'
const ownHeartbeat = noticed(cli, 'a job calls the heartbeat of its own')
const everyRun = noticed(cli, 'a job tells under its name')
const endedBy = noticed(cli, 'a run that SIGKILL ended calls nobody')
const forgotten = noticed(cli, 'of a tenant that is forgotten')
const tested = noticed(cli, 'check --alerts sends a test')
const silentReceiver = noticed(cli, 'SIGTERM ends a run at once that tells')

const drops = (kind: string, old: string, now: string): ProductMutant => ({
  without: `what is ${kind}`,
  file: 'src/service/incidents.ts',
  old,
  now,
  ...story,
})

export const serviceMutants: MutantTable = {
  'each planned run comes once, or is caught up once': [
    {
      without: 'catching up what was missed while nothing was up',
      file: 'src/service/schedule.ts',
      old: '{ job, instants, row: { ...before, ...meant } }',
      now: '{ job, instants, row: fresh }',
      ...caughtUp,
    },
    {
      without: 'one run making up for several instants',
      file: 'src/service/schedule.ts',
      old: '[row.planned_at ?? started, started].sort().at(-1) ?? started',
      now: 'row.planned_at ?? started',
      ...caughtUp,
    },
    {
      without: 'the plan before the first run',
      file: 'src/service/schedule.ts',
      old: 'if (row !== before)',
      now: 'if (false)',
      ...planned,
    },
    {
      without: 'the plan after a run',
      file: 'src/service/schedule.ts',
      old: "'Job ended');\n        await this.#store(planned.row);",
      now: "'Job ended');",
      ...inTurn,
    },
    {
      without: 'the instant that was planned last',
      file: 'src/service/schedule.ts',
      old: 'last_planned_at: row.planned_at,',
      now: '',
      ...inTurn,
    },
    {
      without: 'counting an attempt before it is made',
      file: 'src/service/schedule.ts',
      old: "'Job begins');\n        await this.#store(planned.row);",
      now: "'Job begins');",
      ...killed,
    },
    {
      without: 'an end of what dies with the process again and again',
      file: 'src/service/schedule.ts',
      old: 'Number(before.attempts ?? 0) < mostAttempts',
      now: 'true',
      ...cutShort,
    },
    {
      without: 'beginning again what a signal cut short',
      file: 'src/service/schedule.ts',
      old: 'if (isCut)',
      now: 'if (false)',
      ...cutShort,
    },
    {
      without: 'another try where the warehouse is held',
      file: 'src/service/schedule.ts',
      old: 'exitCode === locked &&',
      now: 'false &&',
      ...triedAgain,
    },
    {
      without: 'an end of such tries',
      file: 'src/service/schedule.ts',
      old: 'exitCode === locked && planned.again === undefined',
      now: 'exitCode === locked',
      ...triedAgain,
    },
    {
      without: 'the order of turns',
      file: 'src/service/schedule.ts',
      old: '(turn(a) < turn(b) ? -1 : 1)',
      now: '(turn(a) > turn(b) ? -1 : 1)',
      ...inTurn,
    },
    {
      without: 'waiting for the end of a job before the next one',
      file: 'src/service/schedule.ts',
      old: 'const exitCode = await run(job, row.planned_at ?? undefined);',
      now: 'const exitCode = 0; void run(job, undefined).catch(() => {});',
      ...inTurn,
    },
    {
      without: 'asking whether another scheduler has done the work',
      file: 'src/sync/run/job.ts',
      old: 'await checkStillDue(deps, plan);',
      now: '',
      ...doneAlready,
    },
    {
      without: 'doing again what another one did not bring to its end',
      file: 'src/warehouse/runs.ts',
      old: ".where('status', 'not in', ['running', 'interrupted'])",
      now: '',
      ...doneAlready,
    },
    {
      without: 'taking the lease of a process that has ended, although nobody has reaped it',
      file: 'src/warehouse/lease.ts',
      old: 'return isZombie(Number(holder.pid));',
      now: 'return false;',
      ...onBoth('test/warehouse/lease.test.ts', 'is free where its holder has ended'),
    },
  ],
  'schedules are meant by the clock on the wall': [
    {
      without: 'the zone',
      file: 'src/config/instants.ts',
      old: 'const offsets = new Offsets(zone)',
      now: "const offsets = new Offsets('UTC')",
      ...gap,
    },
    {
      without: 'the zone of the configuration',
      file: 'src/service/schedule.ts',
      old: 'new Instants(job.schedule, timeZone)',
      now: "new Instants(job.schedule, 'UTC')",
      ...nights,
    },
    {
      without: 'the zone of the configuration, handed on',
      file: 'src/cli/scheduler.ts',
      old: 'const { timeZone, listen } = config.schedule;',
      now: "const { listen } = config.schedule; const timeZone = 'UTC';",
      ...serves,
    },
    {
      without: 'the end of a gap',
      file: 'src/config/instants.ts',
      old: '[shown[0] ?? this.#offsets.endOfGap(reading)]',
      now: 'shown.slice(0, 1)',
      ...gap,
    },
    {
      without: 'running once in an hour that comes twice',
      file: 'src/config/instants.ts',
      old: '[shown[0] ?? this.#offsets.endOfGap(reading)]',
      now: 'shown.length > 0 ? shown : [this.#offsets.endOfGap(reading)]',
      ...twice,
    },
    {
      without: 'every real hour of a schedule of intervals',
      file: 'src/config/instants.ts',
      old: 'if (this.#isEvery)',
      now: 'if (false)',
      ...intervals,
    },
    {
      without: 'refusing a day that never comes',
      file: 'src/config/cron.ts',
      old: 'cron.nextRun() === null',
      now: 'false',
      ...refuses,
    },
  ],
  'job files are read again': [
    {
      without: 'looking at what has changed',
      file: 'src/service/jobbook.ts',
      old: 'known?.version === version ? known',
      now: 'known ? known',
      ...readAgain,
    },
    {
      without: 'what the job was before its file broke',
      file: 'src/service/jobbook.ts',
      old: 'return { version, job: before };',
      now: 'return { version, job: undefined };',
      ...readAgain,
    },
    {
      without: 'saying once that a file is broken',
      file: 'src/service/jobbook.ts',
      old: 'return { version, job: before };',
      now: "return { version: '', job: before };",
      ...readAgain,
    },
    {
      without: 'saying at all that a file is broken',
      file: 'src/service/jobbook.ts',
      old: 'broken(classed(error, name), name);',
      now: '',
      ...readAgain,
    },
    {
      without: 'planning anew for another schedule',
      file: 'src/service/schedule.ts',
      old: 'known?.job.schedule === job.schedule',
      now: 'known',
      ...readAgain,
    },
    {
      without: 'forgetting a job whose file is gone',
      file: 'src/service/schedule.ts',
      old: 'this.#planned.delete(name);',
      now: '{}',
      ...readAgain,
    },
    {
      without: 'refusing a wrong file at the beginning',
      file: 'src/service/jobbook.ts',
      old: 'this.look((error) => {\n            throw error;',
      now: 'this.look((error) => {\n            ',
      ...refuses,
    },
    {
      without: 'refusing to stay up for nothing',
      file: 'src/service/jobbook.ts',
      old: 'if (jobs.length > 0)',
      now: 'if (true)',
      ...refuses,
    },
  ],
  'SIGTERM ends what is in hand': [
    {
      without: 'an end of the run before the process ends',
      file: 'src/cli/scheduler.ts',
      old: 'const end = () => its.abort(signals.signal.reason);',
      now: 'const end = () => process.exit(0);',
      ...ended,
    },
    {
      without: 'telling the run to end',
      file: 'src/cli/scheduler.ts',
      old: "signals.signal.addEventListener('abort', end, { once: true });",
      now: '',
      ...ended,
    },
    {
      without: 'the word that a signal ended the run',
      file: 'src/sync/run/job.ts',
      old: 'left.length > 0 || this.deps.signal.aborted ? endingOf(this.limited.signal) : null',
      now: 'null',
      ...onBoth(job, 'ends after the step in hand when a signal comes'),
    },
    {
      without: 'leaving the steps that are left',
      file: 'src/sync/run/job.ts',
      old: 'if (this.deps.signal.aborted || this.#isStopped)',
      now: 'if (this.#isStopped)',
      ...onBoth(job, 'ends after the step in hand when a signal comes'),
    },
    {
      without: 'an end where the database says nothing',
      file: 'src/cli/signals.ts',
      old: 'setTimeout(() => this.overdue?.(exitCode), patience);',
      now: 'if (!this.expected) setTimeout(() => this.overdue?.(exitCode), patience);',
      test: 'test/warehouse/silence.test.ts',
      name: 'shopsync schedule is not ready while its server is stopped in its tracks',
      on: ['postgres'],
    },
    {
      without: 'the end of telling',
      file: 'src/service/send.ts',
      old: "signal?.addEventListener('abort', interrupt, { once: true });",
      now: '',
      ...silentReceiver,
    },
    {
      without: 'silence about a run that a signal ended',
      file: 'src/cli/alerting.ts',
      old: 'const end = (exitCode, error) => signal.aborted',
      now: 'const end = (exitCode, error) => false',
      ...ended,
    },
  ],
  'a job is one run': [
    {
      without: 'its time limit',
      file: 'src/sync/run/job.ts',
      old: 'this.#failure !== undefined || this.limited.signal.aborted',
      now: 'this.#failure !== undefined',
      ...limited,
    },
    {
      without: 'the time limit of its file',
      file: 'src/cli/jobrun.ts',
      old: 'timeLimitOf(context.invocation.options) ?? job.timeLimit',
      now: 'timeLimitOf(context.invocation.options)',
      ...noticed('test/cli/jobrun.test.ts', 'ends at the time limit of its file'),
    },
    {
      without: 'waiting for the run that holds the warehouse',
      file: 'src/sync/run/whenfree.ts',
      old: '|| left <= 0',
      now: '|| true',
      ...waits,
    },
    {
      without: 'an end of waiting',
      file: 'src/sync/run/whenfree.ts',
      old: 'BigInt(Math.round(wait)) * 1000n',
      now: 'BigInt(Math.round(wait)) * 2000n',
      ...waits,
    },
    {
      without: 'the wait of its file',
      file: 'src/sync/run/job.ts',
      old: 'whenFree(deps, plan.wait,',
      now: 'whenFree(deps, 0,',
      ...waits,
    },
    {
      without: 'the end of what has begun once',
      file: 'src/sync/run/whenfree.ts',
      old: 'isBegun = true;',
      now: '',
      ...waits,
    },
    {
      without: 'stopping where it says so, and going on where it does not',
      file: 'src/sync/run/job.ts',
      old: "this.plan.onFailure === 'stop'",
      now: "this.plan.onFailure === 'continue'",
      ...goesOn,
    },
    {
      without: 'the verdict of its steps',
      file: 'src/sync/run/job.ts',
      old: 'status: statusOfJob(done, cut),',
      now: "status: 'ok',",
      ...goesOn,
    },
    {
      without: 'the rows of its steps',
      file: 'src/sync/run/job.ts',
      old: 'this.run.done.push(report);',
      now: '',
      ...recorded,
    },
    {
      without: 'the number of the step',
      file: 'src/sync/run/job.ts',
      old: 'await this.#one(work, i + 1);',
      now: 'await this.#one(work, 1);',
      ...recorded,
    },
    {
      without: 'the turn of a step that asks nothing',
      file: 'src/sync/run/job.ts',
      old: 'return asksSource && (this.#failure',
      now: 'return (this.#failure',
      ...quietly,
    },
    {
      without: 'the failure of a step',
      file: 'src/sync/run/job.ts',
      old: 'if (this.#failure !== undefined)',
      now: 'if (false)',
      ...quietly,
    },
  ],
  'the server tells those who may ask': [
    {
      without: 'an end of the connections that it takes',
      file: 'src/service/http.ts',
      old: 'server.maxConnections = mostConnections;',
      now: '',
      ...serves,
    },
    {
      without: 'the check of the host name',
      file: 'src/service/http.ts',
      old: 'if (!watched.has(pathOf(request.url)) && !isTrusted(request.host, host))',
      now: 'if (false)',
      ...serves,
    },
    {
      without: 'answers under any name to those who watch',
      file: 'src/service/http.ts',
      old: '!watched.has(pathOf(request.url)) &&',
      now: '',
      ...serves,
    },
    {
      without: 'the refusal of other methods',
      file: 'src/service/http.ts',
      old: "if (request.method !== 'GET' && request.method !== 'HEAD')",
      now: 'if (false)',
      ...serves,
    },
    {
      without: 'the headers of pages',
      file: 'src/service/http.ts',
      old: 'reply.headers(headers);',
      now: '',
      ...serves,
    },
    {
      without: 'words for a port in use',
      file: 'src/service/http.ts',
      old: 'EADDRINUSE:',
      now: 'EADDRUSED:',
      ...refuses,
    },
    {
      without: 'a thread for the page',
      file: 'src/cli/pagemaker.ts',
      old: 'async #make() {',
      now: `async #make() {
        const [{ withContext }, { drawReport }, { Output }, { stillSignals }, { Writable }] = await Promise.all([
            './context.js', './reportfile.js', './output.js', './signals.js', 'node:stream',
        ].map((name) => import(name)));
        const stdout = new Writable({ write: (_chunk, _encoding, done) => done() });
        const out = new Output({ json: false, quiet: true, stdout, stderr: process.stderr });
        const signals = stillSignals(new AbortController().signal);
        const given = { command: 'schedule', globals: this.globals, options: {}, out, signals };
        if (given) return withContext(given, async (its) => (await drawReport(its, its.choice.tenants)).text);`,
      ...serves,
    },
    {
      without: 'tables before it is ready',
      file: 'src/cli/scheduler.ts',
      old: 'const warehouse = await context.readyWarehouse();',
      now: 'const warehouse = await context.warehouse();',
      ...ready,
    },
    {
      without: 'asking the warehouse whether it is ready',
      file: 'src/cli/scheduler.ts',
      old: "ready: found === 'ok'",
      now: 'ready: true',
      test: 'test/warehouse/silence.test.ts',
      name: 'shopsync schedule is not ready while its server is stopped in its tracks',
      on: ['postgres'],
    },
  ],
  'each kind is told': [
    drops(
      'failed',
      "if (cursor.status === 'failed') {",
      "if (cursor.status === 'failed' && failureKind(reason) !== 'failed') {",
    ),
    drops(
      'unproven',
      "if (cursor.status === 'failed') {",
      "if (cursor.status === 'failed' && failureKind(reason) !== 'unproven') {",
    ),
    drops('stale', 'ageOf(last, nowMicros) > staleAfterMs', 'false'),
    drops('deletes_unchecked', 'ageOf(checked, nowMicros) > deletesUncheckedAfterMs', 'false'),
    drops('revoked', '...facts.revoked.map(', '...[].map('),
    drops('drift', '...driftIncidents(facts.drift, now),', ''),
    drops('quarantine', '...facts.quarantine.map(quarantineIncident),', ''),
    drops('wrong with the whole run', '...facts.whole.map(', '...[].map('),
    {
      without: 'the run that was killed',
      file: 'src/service/ledger.ts',
      old: '    ...killed,\n',
      now: '',
      ...killed,
    },
    {
      without: 'the run that was killed, after one that was well',
      file: 'src/service/wholetrouble.ts',
      old: 'last === undefined || last.finished_at !== null || last.run_id === holder',
      now: 'last === undefined || last.finished_at === null || last.run_id === holder',
      ...endedBy,
    },
    {
      without: 'what only a comparison found, told beside what is recorded',
      file: 'src/service/incidents.ts',
      old: '...fromReports(facts, now),',
      now: '',
      ...compared,
    },
  ],
  'once when it opens, and once when it is over': [
    {
      without: 'knowing who was told',
      file: 'src/service/telling.ts',
      old: 'row.told[id]?.opened === undefined && isDue(row)',
      now: 'isDue(row)',
      ...story,
    },
    {
      without: 'keeping what was told',
      file: 'src/service/alerts.ts',
      old: 'type === undefined ? told : { ...told, [type]: fromMicros(nowMicros) }',
      now: 'told',
      ...story,
    },
    {
      without: 'keeping incidents in the warehouse',
      file: 'src/warehouse/alerts.ts',
      old: 'return parts.map((part) =>',
      now: 'return [].map((part) =>',
      ...story,
    },
    {
      without: 'the end',
      file: 'src/service/telling.ts',
      old: 'return isTold && row.resolved_at !== null',
      now: 'return false && row.resolved_at !== null',
      ...story,
    },
    {
      without: 'the end being told once',
      file: 'src/service/telling.ts',
      old: 'told?.opened !== undefined && told.resolved === undefined',
      now: 'told?.opened !== undefined',
      ...story,
    },
    {
      without: 'silence to whoever did not hear the beginning',
      file: 'src/service/telling.ts',
      old: 'told?.opened !== undefined && told.resolved === undefined',
      now: 'told?.resolved === undefined',
      ...kept,
    },
    {
      without: 'one incident from two causes of a cursor',
      file: 'src/service/ledger.ts',
      old: 'isOfWhole(incident) ? incident.cause : null,',
      now: 'incident.since,',
      ...story,
    },
    {
      without: 'trouble of the whole run swallowing what follows',
      file: 'src/service/ledger.ts',
      old: 'filter((incident) => !isSwallowed(incident, facts))',
      now: 'filter(() => true)',
      ...story,
    },
    {
      without: 'a difference lasting until a comparison',
      file: 'src/service/ledger.ts',
      old: "lasts === 'reconcile' ? reports.filter(({ mode }) => compared.includes(mode)) : reports",
      now: 'reports',
      ...compared,
    },
    {
      without: 'the incidents of the chosen resources in status',
      file: 'src/sync/ask/openincidents.ts',
      old: "resource === '' || (resources?.includes(resource) ?? true)",
      now: 'true',
      ...kept,
    },
    {
      without: 'telling status what is over',
      file: 'src/warehouse/alerts.ts',
      old: "const open = db.selectFrom('sync_alerts').selectAll().where('resolved_at', 'is', null);\n    return (await open.orderBy('since')",
      now: "const open = db.selectFrom('sync_alerts').selectAll();\n    return (await open.orderBy('since')",
      ...kept,
    },
    {
      without: 'the incidents in the document of status',
      file: 'src/cli/commands/status.ts',
      old: ', incidents }, text)',
      now: ' }, text)',
      ...ownHeartbeat,
    },
    {
      without: 'claims: two runs that end together',
      file: 'src/service/telling.ts',
      old: 'isDue(row) && isFree(row)',
      now: 'isDue(row)',
      ...onceForAll,
    },
    {
      without: 'the kinds that a rule names',
      file: 'src/service/telling.ts',
      old: 'on.some((one) => one === kind)',
      now: 'true',
      ...onceForAll,
    },
    {
      without: 'waiting as a rule says',
      file: 'src/service/telling.ts',
      old: 'ageOf(row.since, nowMicros) >= rule.after',
      now: 'true',
      ...onceForAll,
    },
    {
      without: 'trying again in the next run',
      file: 'src/service/alerts.ts',
      old: 'if (!(await deliverOrSay(options, { rule, message, endsAt })))\n            continue;',
      now: 'await deliverOrSay(options, { rule, message, endsAt });',
      ...kept,
    },
    {
      without: 'telling where the warehouse is away',
      file: 'src/service/alerts.ts',
      old: '    if (run.error !== undefined)\n            await tellUnkept(options, run);\n    }\n}',
      now: '    }\n}',
      ...away,
    },
    {
      without: 'the end for a tenant that is forgotten',
      file: 'src/service/forgotten.ts',
      old: 'if (rows.length === 0)',
      now: 'if (true)',
      ...forgotten,
    },
  ],
  'a message is signed, and says no secret': [
    {
      without: 'the time in what is signed',
      file: 'src/service/webhook.ts',
      old: '`${name}.${timestamp}.${body}`',
      now: '`${name}.${body}`',
      ...signed,
    },
    {
      without: 'the key as it is in base64',
      file: 'src/service/webhook.ts',
      old: "Buffer.from(key.replace(/^whsec_/, ''), 'base64')",
      now: 'Buffer.from(key)',
      ...signed,
    },
    {
      without: 'a name of its own for each message',
      file: 'src/service/message.ts',
      old: 'JSON.stringify([ruleId, warehouse, type, news.sort()])',
      now: 'JSON.stringify([ruleId, warehouse])',
      ...signed,
    },
    {
      without: 'one name for the same news',
      file: 'src/service/message.ts',
      old: 'JSON.stringify([ruleId, warehouse, type, news.sort()])',
      now: 'String(Math.random())',
      ...kept,
    },
    {
      without: 'the concealed address of a webhook',
      file: 'src/service/alerts.ts',
      old: 'rule: ruleName(rule),',
      now: 'rule: rule.rule.webhook?.reveal(),',
      ...kept,
    },
    {
      without: 'the secrets among what the log conceals',
      file: 'src/cli/secrets.ts',
      old: 'config.api.secret.reveal(),',
      now: '',
      ...tested,
    },
    {
      without: 'refusing a heartbeat in clear text',
      file: 'src/config/job.ts',
      old: 'return problem ? [problem] : [];',
      now: 'return [];',
      ...noticed('test/config/job.test.ts', 'a heartbeat by plain http is refused'),
    },
    {
      without: 'an environment without secrets',
      file: 'src/service/command.ts',
      old: 'env: environmentWithout(programs.environment, secrets),',
      now: 'env: programs.environment,',
      ...noticed('test/service/command.test.ts', 'gets the message on stdin'),
    },
    {
      without: 'concealing secrets in what a program says',
      file: 'src/service/command.ts',
      old: '`: ${concealed(stderr.trim(), secrets)}`',
      now: '`: ${stderr.trim()}`',
      ...noticed('test/service/command.test.ts', 'that fails is said'),
    },
  ],
  'a receiver that does not answer holds nothing up': [
    {
      without: 'the end of an attempt',
      file: 'src/service/send.ts',
      old: 'await Promise.race([sending, tooLate])',
      now: 'await sending',
      ...kept,
    },
    {
      without: 'the end of all attempts',
      file: 'src/service/send.ts',
      old: 'if (now() + wait >= end)',
      now: 'if (attempt >= 50)',
      ...noticed('test/service/heartbeat.test.ts', 'follows no redirect'),
    },
    {
      without: 'another attempt',
      file: 'src/service/send.ts',
      old: 'worthRetrying: isPassing',
      now: 'worthRetrying: false',
      ...noticed('test/service/heartbeat.test.ts', 'is tried again while the server is in trouble'),
    },
    {
      without: 'refusing redirects',
      file: 'src/service/send.ts',
      old: 'if (status < 400)\n        return { delivered: false',
      now: 'if (status < 400)\n        return { delivered: true',
      ...noticed('test/service/heartbeat.test.ts', 'follows no redirect'),
    },
    {
      without: 'the end of a program that never ends',
      file: 'src/service/command.ts',
      old: 'process.kill(-pid,',
      now: 'process.kill(pid,',
      ...noticed('test/service/command.test.ts', 'that never ends is killed with its children'),
    },
  ],
  'heartbeats say that a run came to its end': [
    {
      without: 'the heartbeat of the configuration',
      file: 'src/cli/alerting.ts',
      old: "['alerts.heartbeat', config.alerts.heartbeat],",
      now: '',
      ...told,
    },
    {
      without: 'the heartbeat of the job',
      file: 'src/cli/alerting.ts',
      old: '[`heartbeat of ${job}`, ofJob],',
      now: '',
      ...told,
    },
    {
      without: 'calling each of them once',
      file: 'src/cli/alerting.ts',
      old: '[`heartbeat of ${job}`, ofJob],',
      now: '[`heartbeat of ${job}`, ofJob], [job, ofJob],',
      ...told,
    },
    {
      without: 'the exit code',
      file: 'src/service/heartbeat.ts',
      old: 'const parameter = `exit=${exit}`;',
      now: 'const parameter = `exit=0`;',
      ...told,
    },
    {
      without: 'the heartbeats of jobs in the test of alerts',
      file: 'src/service/testalerts.ts',
      old: 'return Promise.all([...tests, ...calls]);',
      now: 'return Promise.all([...tests, ...calls.slice(0, 1)]);',
      ...tested,
    },
    {
      without: 'silence of a run that could not begin',
      file: 'src/cli/alerting.ts',
      old: 'exitCode <= 1 ?',
      now: 'exitCode <= 4 ?',
      ...everyRun,
    },
    {
      without: 'calls of a run that failed',
      file: 'src/cli/alerting.ts',
      old: 'exitCode <= 1 ?',
      now: 'exitCode <= 0 ?',
      ...ownHeartbeat,
    },
  ],
  networks: [
    {
      without: 'the login of a user who has no password',
      file: 'src/api/http/transport.ts',
      old: '...(login !== undefined && { token: login }),',
      now: '',
      ...noticed('test/api/proxy.test.ts', 'opens a tunnel'),
    },
    {
      without: 'the name of the host in verify-full',
      file: 'src/warehouse/postgres/connection.ts',
      old: "mode === 'verify-full' ? {} :",
      now: '',
      ...noticed('test/warehouse/tls.test.ts', '127.0.0.1?sslmode=verify-full'),
    },
    {
      without: 'the authority of verify-ca',
      file: 'src/warehouse/postgres/connection.ts',
      old: "if (mode === 'require' && !hasAuthority)",
      now: "if (mode === 'verify-ca')",
      ...noticed('test/warehouse/tls.test.ts', 'localhost?sslmode=verify-ca'),
    },
  ],
}
