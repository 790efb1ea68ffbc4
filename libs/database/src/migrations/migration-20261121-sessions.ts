import { Migration } from '@mikro-orm/migrations'

/** For the temporary password of an admin's reset. */
export class Migration20261121Sessions extends Migration {
  override up(): void {
    this.addSql('alter table users add column password_change_required boolean not null default false')
  }
}
