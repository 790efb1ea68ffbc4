import { Migration } from '@mikro-orm/migrations'

/** The indexes read an author's messages in pages: without them each page of an export sorts all messages. */
export class Migration20261122OwnData extends Migration {
  override up(): void {
    this.addSql('alter table users add column sessions_ended_by_reset boolean not null default false')
    for (const table of ['messages', 'dm_messages']) {
      this.addSql(`create index ${table}_author_page on ${table} (author_id, id)`)
      this.addSql(`drop index ${table}_author`)
    }
  }
}
