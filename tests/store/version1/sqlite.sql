BEGIN TRANSACTION;
CREATE TABLE artifacts (
	run_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	media_type TEXT NOT NULL, 
	sha256 VARCHAR(64) NOT NULL, 
	size INTEGER NOT NULL, 
	created_at DOUBLE NOT NULL, 
	PRIMARY KEY (run_id, name), 
	FOREIGN KEY(run_id) REFERENCES runs (id), 
	FOREIGN KEY(sha256) REFERENCES blobs (sha256)
);
INSERT INTO "artifacts" VALUES(1,'input/photo','application/octet-stream','0f4636c78f65d3639ece5a064b5ae753e3408614a14fb18ab4d7540d2c248543',4,1.7952603848173780441e+09);
INSERT INTO "artifacts" VALUES(1,'quantised.png','image/png','2cea274d0bedc39ec4ab6ba9e59ec889e3ed6fb56a1cf088a64d9b383378dc97',7,1.79526038484065103527e+09);
CREATE TABLE batches (
	run_id INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	batch INTEGER NOT NULL, 
	PRIMARY KEY (run_id, rank, batch), 
	FOREIGN KEY(run_id) REFERENCES runs (id)
)
 WITHOUT ROWID

;
INSERT INTO "batches" VALUES(1,0,1);
INSERT INTO "batches" VALUES(1,1,1);
CREATE TABLE blobs (
	sha256 VARCHAR(64) NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (sha256)
);
INSERT INTO "blobs" VALUES('0f4636c78f65d3639ece5a064b5ae753e3408614a14fb18ab4d7540d2c248543',X'89504E47');
INSERT INTO "blobs" VALUES('2cea274d0bedc39ec4ab6ba9e59ec889e3ed6fb56a1cf088a64d9b383378dc97',X'70696374757265');
CREATE TABLE events (
	run_id INTEGER NOT NULL, 
	id BIGINT NOT NULL, 
	name_id INTEGER NOT NULL, 
	rank INTEGER NOT NULL, 
	step BIGINT, 
	time DOUBLE NOT NULL, 
	value DOUBLE, 
	PRIMARY KEY (run_id, id)
)
 WITHOUT ROWID

;
INSERT INTO "events" VALUES(1,1,1,0,1,10.0,4.5);
INSERT INTO "events" VALUES(1,2,1,0,2,11.0,4.25);
INSERT INTO "events" VALUES(1,3,2,1,1,10.0,0.5);
CREATE TABLE identities (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	role VARCHAR(20) NOT NULL, 
	nickname TEXT NOT NULL, 
	token_hash VARCHAR(128) NOT NULL, 
	created_at DOUBLE NOT NULL, 
	UNIQUE (token_hash)
);
INSERT INTO "identities" VALUES(1,'learner','Ada','0000000000000000000000000000000000000000000000000000000000000000',1.79526038479614734647e+09);
CREATE TABLE names (
	id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "names" VALUES(1,'inertia');
INSERT INTO "names" VALUES(2,'time.compute');
CREATE TABLE runs (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	session_id INTEGER NOT NULL, 
	workload TEXT NOT NULL, 
	status VARCHAR(20) NOT NULL, 
	params TEXT NOT NULL, 
	placement TEXT NOT NULL, 
	submitted_by TEXT NOT NULL, 
	identity_id INTEGER, 
	measured BOOLEAN NOT NULL, 
	rank_map TEXT, 
	machine TEXT, 
	metrics TEXT NOT NULL, 
	verdict TEXT, 
	error TEXT, 
	notices TEXT NOT NULL, 
	progress TEXT, 
	queued_at DOUBLE NOT NULL, 
	started_at DOUBLE, 
	finished_at DOUBLE, 
	cancel_requested BOOLEAN NOT NULL, 
	events BIGINT NOT NULL, 
	FOREIGN KEY(session_id) REFERENCES sessions (id), 
	FOREIGN KEY(identity_id) REFERENCES identities (id)
);
INSERT INTO "runs" VALUES(1,1,'kmeans','completed','{"clusters": 4, "image": "china"}','{"ranks": 2}','Ada',1,0,NULL,NULL,'{"inertia": 4.25}','{"verdict": "Well balanced.", "why": "It is.", "next": "Go on."}',NULL,'[]',NULL,1.79526038480953979495e+09,1.79526038482411932949e+09,1.79526038484111261366e+09,0,3);
INSERT INTO "runs" VALUES(2,1,'kmeans','failed','{"clusters": 8, "image": "china"}','{"ranks": 4}','',NULL,1,NULL,NULL,'{}',NULL,'{"rank": 1, "host": "laptop", "type": "ValueError", "message": "no luck", "traceback": ""}','[]',NULL,1.79526038484203505516e+09,1.79526038484709835052e+09,1.79526038485077023502e+09,0,0);
INSERT INTO "runs" VALUES(3,1,'kmeans','queued','{"clusters": 16, "image": "china"}','{"ranks": 1}','',NULL,0,NULL,NULL,'{}',NULL,NULL,'[]',NULL,1.79526038485499453544e+09,NULL,NULL,0,0);
CREATE TABLE sessions (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name VARCHAR(40) NOT NULL, 
	state VARCHAR(20) NOT NULL, 
	message TEXT NOT NULL, 
	placement TEXT NOT NULL, 
	limits TEXT NOT NULL, 
	private BOOLEAN NOT NULL, 
	machine TEXT NOT NULL, 
	rank_map TEXT, 
	conductor_pid INTEGER, 
	heartbeat_at DOUBLE, 
	created_at DOUBLE NOT NULL, 
	stop_requested BOOLEAN NOT NULL, 
	reset_requested BOOLEAN NOT NULL, 
	UNIQUE (name)
);
INSERT INTO "sessions" VALUES(1,'class','stopped','','{"mpi": "openmpi", "ranks": 2}','{"ranks": 8, "threads": 8, "minutes": 10.0, "queued": 3}',0,'{"host": "laptop", "units": []}',NULL,NULL,1.7952603847900555134e+09,1.7952603847900555134e+09,0,0);
CREATE TABLE settings (
	"key" VARCHAR(100) NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
);
INSERT INTO "settings" VALUES('class_code','code');
CREATE TABLE spans (
	n INTEGER NOT NULL, 
	PRIMARY KEY (n)
);
CREATE TABLE workshop_schema (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "workshop_schema" VALUES(1);
CREATE INDEX events_of_name ON events (run_id, name_id, rank, step, time, value);
CREATE INDEX runs_of_session ON runs (session_id, status);
CREATE INDEX ix_artifacts_sha256 ON artifacts (sha256);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sessions',1);
INSERT INTO "sqlite_sequence" VALUES('identities',1);
INSERT INTO "sqlite_sequence" VALUES('runs',3);
INSERT INTO "spans" WITH RECURSIVE n(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM n WHERE n < 1999) SELECT n FROM n;
COMMIT;
