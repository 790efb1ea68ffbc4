import { Migration } from '@mikro-orm/migrations'

/**
 * How the sockets of an account were last ended, and indexes in which the messages of an author are read in pages: with the
 * author alone each page of an export would sort all of them.
 */
export class Migration20261122OwnData extends Migration {
  override up(): void {
    this.addSql('alter table users add column sessions_ended_by_reset boolean not null default false')
    for (const table of ['messages', 'dm_messages']) {
      this.addSql(`create index ${table}_author_page on ${table} (author_id, id)`)
      this.addSql(`drop index ${table}_author`)
    }
  }
}
