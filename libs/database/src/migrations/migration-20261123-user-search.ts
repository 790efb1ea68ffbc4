import { Migration } from '@mikro-orm/migrations'

/** A role that may not create pg_trgm leaves a search by the start of the username. Design: invariant 13. */
export class Migration20261123UserSearch extends Migration {
  override up(): void {
    this.addSql(`
      do $$ begin
        create extension if not exists pg_trgm;
        create index users_names on users using gin (username gin_trgm_ops, display_name gin_trgm_ops);
      exception when insufficient_privilege or undefined_file or undefined_object or feature_not_supported then
        create index users_names on users (username text_pattern_ops);
      end $$`)
  }
}
