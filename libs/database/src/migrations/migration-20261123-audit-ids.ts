import { Migration } from '@mikro-orm/migrations'

/** New entries of the audit log get ids like everything else; they are greater than those of the entries before. */
export class Migration20261123AuditIds extends Migration {
  override up(): void {
    this.addSql('alter table audit_log alter column id drop identity')
    this.addSql('alter table audit_log alter column id set default next_snowflake()')
  }
}
