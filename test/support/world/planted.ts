/**
 * A database in whose schema `public` a stranger has planted something of every name that Postgres has: functions and
 * operators for the same argument types and for exact ones where Postgres takes any, types, and relations, those of ours
 * too (planted.sql). The roles that it is for look there first, so a session that doesn't set its own path calls them. Each call counts,
 * and fails. Nobody may take an advisory lock, whose name others can know and take.
 */
import pg from 'pg'
import { databaseAt, onServer } from '../harness/databases.js'
import { textOf } from '../harness/tree.js'

export class Planted {
  private constructor(
    readonly url: string,
    /** Everything in it may be used by this connection, which names what it calls. */
    readonly owner: pg.Client,
    private readonly name: string,
    private readonly server: string,
  ) {}

  /** The database of a role of the same name, which owns it. */
  static async start(server: string, name: string): Promise<Planted> {
    await onServer(server, `create role ${name} login`, `create database ${name} owner ${name}`)
    const own = new URL(databaseAt(server, name))
    const owner = new pg.Client({ connectionString: own.href })
    await owner.connect()
    own.username = name
    return new Planted(own.href, owner, name, server)
  }

  /** Plants, and lets every new session of the database look in `public` first. */
  async plant(): Promise<void> {
    const { owner, name } = this
    // What is planted would be called by what plants the rest.
    await owner.query('set search_path = pg_catalog, pg_temp')
    await owner.query(
      'create sequence public.planted_calls; grant all on sequence public.planted_calls to public',
    )
    await owner.query(textOf('test/support/world/planted.sql'))
    await owner.query(`grant usage, create on schema public to public`)
    await owner.query(`alter database ${name} set search_path = public, pg_catalog`)
  }

  /** Whether anything planted was ever called. */
  async wasCalled(): Promise<boolean> {
    const { rows } = await this.owner.query('select is_called from public.planted_calls')
    return rows[0]?.is_called === true
  }

  async stop(): Promise<void> {
    await this.owner.end()
    await onServer(this.server, `drop database ${this.name} with (force)`, `drop owned by ${this.name}`)
    await onServer(this.server, `drop role ${this.name}`)
  }
}
