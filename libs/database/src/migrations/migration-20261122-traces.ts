import { Migration } from '@mikro-orm/migrations'

/** The trace of an outbox event. */
export class Migration20261122Traces extends Migration {
  override up(): void {
    this.addSql('alter table outbox add column traceparent text')
  }
}
