import { Migration } from '@mikro-orm/migrations'

/** The trace that an event of the outbox belongs to, where traces are exported. */
export class Migration20261122Traces extends Migration {
  override up(): void {
    this.addSql('alter table outbox add column traceparent text')
  }
}
