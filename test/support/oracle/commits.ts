/**
 * What a Postgres saw of the processes that write a warehouse, by triggers of the tests: at each commit, who held the
 * tenant, and each row that an older version replaced. Knows nothing of how the product fences.
 */

import pg from 'pg'
import { expect } from 'vitest'
import { onServer } from '../harness/databases.js'
import type { Address } from '../harness/place.js'

/** A process's own connections, by the name that they have at the server. */
export const named = ({ url, schema }: Address, name: string): Address => ({
  url: `${url}?application_name=${name}`,
  schema,
})

/** A row of the lease that covers a tenant and has an owner. */
interface Holder {
  readonly name: string
  readonly pid: number
  readonly token: number
}

interface Commit {
  readonly tenant: string
  /** The name of the connection. */
  readonly writer: string
  readonly holders: readonly Holder[]
}

const place = 'test_commits'

/** Begins to record, in a warehouse whose tables are there. The triggers fire at the end of a transaction. */
export async function recordCommits({ url, schema }: Address, tables: readonly string[]): Promise<void> {
  const covers = `case when name = 'run' then true
    else (new.tenant_id % 1009 + 1009) % 1009 % split_part(name, '/', 2)::int = split_part(name, '/', 1)::int end`
  await onServer(
    url,
    `drop schema if exists ${place} cascade; create schema ${place}`,
    `create table ${place}.commits (n bigint generated always as identity, tx bigint, tenant bigint, writer text,
       holders jsonb, primary key (tx, tenant))`,
    `create table ${place}.backwards (tenant bigint, "table" text, id bigint, versions jsonb)`,
    `create function ${place}.commits() returns trigger language plpgsql as $$
      begin
        if exists (select from ${place}.commits where tx = txid_current() and tenant = new.tenant_id) then
          return null;
        end if;
        insert into ${place}.commits (tx, tenant, writer, holders)
          select txid_current(), new.tenant_id, current_setting('application_name'),
            coalesce(jsonb_agg(jsonb_build_object('name', name, 'pid', pid, 'token', token)), '[]')
          from ${schema}.sync_lease where owner is not null and ${covers};
        return null;
      end $$`,
    `create function ${place}.backwards() returns trigger language plpgsql as $$
      begin
        insert into ${place}.backwards values (new.tenant_id, tg_table_name, new.id, jsonb_build_array(
          old.updated_at, old._synced_at, new.updated_at, new._synced_at));
        return null;
      end $$`,
    ...tables.flatMap((table) => [
      `create constraint trigger test_commits after insert or update on ${schema}.${table}
        deferrable initially deferred for each row execute function ${place}.commits()`,
      `create trigger test_backwards after update on ${schema}.${table} for each row
        when ((new.updated_at, new._synced_at) < (old.updated_at, old._synced_at)) execute function ${place}.backwards()`,
    ]),
  )
}

/**
 * The process that committed rows of a tenant was its only holder then, nobody committed after a later holder, and no
 * row went back to an older version. `pids`: the processes, by the names of their connections. Returns the number of
 * commits.
 */
export async function expectOneWriter(
  { url }: Address,
  pids: ReadonlyMap<string, number | undefined>,
): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<Commit>(
      `select tenant, writer, holders from ${place}.commits order by n`,
    )
    const tokens = new Map<string, number>()
    for (const { tenant, writer, holders } of rows) {
      const told = `${writer} wrote tenant ${tenant}`
      expect(
        holders.map(({ pid }) => pid),
        `${told} under ${JSON.stringify(holders)}`,
      ).toEqual([pids.get(writer)])
      const token = holders[0]?.token ?? 0
      expect(token, told).toBeGreaterThanOrEqual(tokens.get(tenant) ?? 0)
      tokens.set(tenant, token)
    }
    expect((await client.query(`select * from ${place}.backwards`)).rows).toEqual([])
    return rows.length
  } finally {
    await client.end()
  }
}
